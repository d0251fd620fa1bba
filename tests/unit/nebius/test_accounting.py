"""slurmdbd and its database, whoever runs that."""

from typing import Any

import pytest

from slurmery.nebius.accounting import build, database, mariadb, tuning
from slurmery.nebius.config.slurmdbd import slurmdbd_conf
from slurmery.nebius.errors import SpecError
from tests.unit.nebius.clusters import at, check, cluster

EXTERNAL: dict[str, Any] = {"slurmNodes__accounting__externalDB__enabled": True}
AT = "slurmNodes__accounting__mariadbOperator__"


def pod(**changes: Any) -> Any:
    return build.deployment(cluster(**changes), {}).manifest["spec"]["template"]["spec"]


def test_objects() -> None:
    found = cluster()
    check(
        "accounting",
        [
            build.config_secret(found, slurmdbd_conf(found, "secret")),
            build.service(found),
            build.deployment(found, {"aurora-munge": "b" * 8, "aurora-slurmdbd-configs": "a" * 8}),
        ],
    )


def test_a_database_elsewhere() -> None:
    check("accounting-external", [build.deployment(cluster(**EXTERNAL), {})])


@pytest.mark.parametrize("version", ["1.22", "5.0"])
def test_a_database_of_the_mariadb_operator(version: str) -> None:
    found = cluster(version)
    check(f"mariadb-{version}", [mariadb.mariadb(found), mariadb.grant(found), mariadb.database(found)])


def test_a_database_of_our_own() -> None:
    found = cluster("5.0")
    check("database", [database.service(found), database.stateful_set(found, {"mariadb-password": "a"})])


def test_names_labels_and_replicas() -> None:
    manifest = build.deployment(cluster(), {}).manifest

    assert manifest["metadata"]["name"] == "accounting"
    assert build.deployment(cluster("5.0"), {}).key.name == "borealis-accounting"
    assert manifest["spec"]["replicas"] == 1
    assert build.deployment(cluster(maintenance="downscale"), {}).manifest["spec"]["replicas"] == 0
    assert manifest["spec"]["selector"]["matchLabels"] == manifest["spec"]["template"]["metadata"]["labels"]


def test_the_service_leads_to_the_port_of_slurmdbd() -> None:
    spec = build.service(cluster(slurmNodes__accounting__slurmdbd__port=7000)).manifest["spec"]
    assert spec["ports"] == [
        {"name": "accounting", "port": 7000, "targetPort": "accounting", "protocol": "TCP"}
    ]
    assert spec["selector"]["app.kubernetes.io/component"] == "accounting"


def test_limits_leave_cpu_open_and_storage_sizes_the_spool() -> None:
    slurmdbd, found = pod()["containers"][0], pod()
    assert "cpu" not in slurmdbd["resources"]["limits"]
    assert "storage" not in slurmdbd["resources"]["requests"]
    assert {"name": "spool", "emptyDir": {"sizeLimit": "1Gi"}} in found["volumes"]


def test_certificates_are_mounted_only_for_a_database_elsewhere() -> None:
    def mounted(**changes: Any) -> set[str]:
        return {each["name"] for each in pod(**changes)["containers"][0]["volumeMounts"]}

    tls = {"slurmdbd-ssl-ca-cert", "slurmdbd-ssl-client-key"}
    assert not tls & mounted()
    assert tls <= mounted(**EXTERNAL)


@pytest.mark.parametrize("name", ["slurmdbd", "munge"])
def test_a_container_that_is_missing_is_named(name: str) -> None:
    with pytest.raises(SpecError, match=f"slurmNodes.accounting.{name} is missing"):
        pod(**{f"slurmNodes__accounting__{name}": None})


def test_a_missing_database_is_named() -> None:
    with pytest.raises(SpecError, match="mariadbOperator is missing"):
        mariadb.mariadb(cluster(slurmNodes__accounting__mariadbOperator=None))


def server(**changes: Any) -> Any:
    return mariadb.mariadb(cluster(**changes)).manifest["spec"]


@pytest.mark.parametrize(("protected", "generate"), [(True, False), (False, True)])
def test_passwords_are_generated_by_one_side_only(protected: bool, generate: bool) -> None:
    spec = server(**{f"{AT}protectedSecret": protected})
    assert spec["passwordSecretKeyRef"] == {
        "name": "mariadb-password",
        "key": "password",
        "generate": generate,
    }
    assert spec["rootPasswordSecretKeyRef"] == {
        "name": "mariadb-root",
        "key": "password",
        "generate": generate,
    }


@pytest.mark.parametrize(("replicas", "apart"), [(None, False), (1, False), (2, True)])
def test_several_servers_keep_apart(replicas: int | None, apart: bool) -> None:
    spec = server(**{f"{AT}replicas": replicas})
    assert spec["replicas"] == (replicas or 1)
    assert spec["affinity"]["antiAffinityEnabled"] == apart


def test_affinity_is_translated() -> None:
    filters = [
        {
            "name": "cpu",
            "affinity": {
                "podAntiAffinity": {
                    "preferredDuringSchedulingIgnoredDuringExecution": [
                        {
                            "weight": 1,
                            "podAffinityTerm": {"topologyKey": "zone", "namespaces": ["x"]},
                        }
                    ]
                }
            },
        },
        {"name": "gpu"},
    ]
    assert server(k8sNodeFilters=filters)["affinity"]["podAntiAffinity"] == {
        "preferredDuringSchedulingIgnoredDuringExecution": [
            {"weight": 1, "podAffinityTerm": {"topologyKey": "zone"}}
        ]
    }
    node = server(slurmNodes__accounting__k8sNodeFilterName="gpu")["affinity"]
    assert "nodeAffinity" in node


@pytest.mark.parametrize(("memory", "pool"), [("4Gi", "2048M"), (None, None)])
def test_half_of_the_memory_holds_data(memory: str | None, pool: str | None) -> None:
    found = mariadb.given(cluster(**at(f"{AT}resources", {"memory": memory} if memory else {})))
    assert tuning.settings(found).get("innodb_buffer_pool_size") == pool


def test_times_are_in_seconds() -> None:
    spec = mariadb.grant(cluster()).manifest["spec"]
    assert (spec["requeueInterval"], spec["retryInterval"]) == ("30s", "5s")


def test_our_own_database_may_forget_when_it_is_told_so() -> None:
    spec = database.stateful_set(cluster(**at(f"{AT}storage", {"ephemeral": True})), {}).manifest["spec"]
    assert "volumeClaimTemplates" not in spec
    assert {"name": "storage", "emptyDir": {}} in spec["template"]["spec"]["volumes"]


@pytest.mark.parametrize(
    ("changes", "address"),
    [
        ({}, ("borealis-acct-db", "3306")),
        (at(f"{AT}port", 3307), ("borealis-acct-db", "3307")),
        (
            {**EXTERNAL, "slurmNodes__accounting__externalDB__host": "db.example.com"},
            ("db.example.com", "3306"),
        ),
    ],
)
def test_slurmdbd_waits_for_its_database_since_5_0(changes: dict[str, Any], address: tuple[str, str]) -> None:
    found = build.deployment(cluster("5.0", **changes), {}).manifest["spec"]["template"]["spec"]
    waits = found["initContainers"][-1]
    assert waits["name"] == "wait-for-database"
    assert waits["image"] == found["containers"][0]["image"]
    assert tuple(each["value"] for each in waits["env"]) == address
    assert [each["name"] for each in pod()["initContainers"]] == ["munge"]
