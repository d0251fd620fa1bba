"""Accounting: slurmdbd in front of a real MariaDB, ours and somebody else's."""

import base64
import json

from tests.e2e.slinky.department import Department

SQL = ("exec", "mariadb-0", "--", "mariadb", "--socket=/run/mysqld/mysqld.sock", "-N", "-e")


def test_a_finished_job_is_in_the_database(department: Department) -> None:
    job = department.job()
    department.slurm.wait("the record", lambda: department.recorded(job))

    count = f"SELECT COUNT(*) FROM slurm_acct_db.physics_job_table WHERE id_job={job}"
    assert department.slurm.kubectl(*SQL, count).strip() == "1"


def test_accounts_and_users_are_kept(department: Department) -> None:
    def known() -> set[str]:
        return set(
            department.slurm.run("sacctmgr", "-n", "-P", "show", "assoc", "format=account,user").split()
        )

    assert "UP" in department.slurm.run("sacctmgr", "ping")
    department.slurm.run("sacctmgr", "-i", "add", "account", "optics")
    department.slurm.run("sacctmgr", "-i", "add", "user", "www-data", "account=optics")
    assert {"optics|", "optics|www-data"} <= known()
    department.slurm.run("sacctmgr", "-i", "delete", "user", "www-data", "account=optics")
    department.slurm.run("sacctmgr", "-i", "delete", "account", "optics")
    assert not {"optics|", "optics|www-data"} & known()


def test_the_password_is_in_no_config_map_and_no_pod(department: Department) -> None:
    secret = json.loads(department.slurm.kubectl("get", "secret", "slurm-database", "-o", "json"))
    password = base64.b64decode(secret["data"]["password"]).decode()

    everything = department.slurm.kubectl(
        "get", "configmaps,pods,statefulsets,accountings,events", "-o", "yaml"
    )
    assert password not in everything


def test_a_new_password_reaches_slurmdbd(department: Department) -> None:
    slurm = department.slurm
    [before] = [pod["metadata"]["uid"] for pod in department.pods("slurmdbd")]
    slurm.kubectl(*SQL, "ALTER USER slurm IDENTIFIED BY 'changed'")
    slurm.kubectl("patch", "secret", "slurm-database", "-p", '{"stringData": {"password": "changed"}}')
    slurm.wait(
        "a new slurmdbd",
        lambda: [pod["metadata"]["uid"] for pod in department.pods("slurmdbd")] not in ([], [before]),
    )
    slurm.wait("it is ready", lambda: department.ready("accounting", "slurm"))

    job = department.job()
    slurm.wait("jobs are recorded", lambda: department.recorded(job))


def test_a_slurmdbd_from_elsewhere_is_used(department: Department) -> None:
    slurm = department.slurm
    accounting = {
        "apiVersion": "slinky.slurm.net/v1beta1",
        "kind": "Accounting",
        "metadata": {"name": "campus"},
        "spec": {
            "external": True,
            "externalConfig": {"host": f"slurm-accounting.{slurm.namespace}", "port": 6819},
        },
    }
    physics = json.loads(slurm.kubectl("get", "controller", "slurm", "-o", "json"))
    controller = {
        **physics,
        "metadata": {"name": "annex"},
        "spec": {**physics["spec"], "clusterName": "annex", "accountingRef": {"name": "campus"}},
    }
    slurm.kubectl("apply", "-f", "-", stdin=json.dumps(accounting))
    slurm.kubectl("apply", "-f", "-", stdin=json.dumps(controller))
    try:
        slurm.wait(
            "the other cluster is registered",
            lambda: (
                "annex|6817"
                in slurm.run("sacctmgr", "-n", "-P", "show", "cluster", "format=cluster,controlport")
            ),
        )
        assert department.ready("accounting", "campus")
        made = slurm.kubectl("get", "statefulsets,services", "-o", "name")
        assert "campus" not in made
    finally:
        slurm.kubectl("delete", "controller/annex", "accounting/campus", "--timeout=60s")
