"""A SlurmCluster, its checks and their program from Helm values: jobs run, and are let in by the prolog."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

import slurmery
from dev import paths
from dev.cluster import Cluster
from dev.helm import Helm
from dev.kubectl import Kubectl
from dev.operator import NAMESPACE
from dev.target import LOCAL, Embedded, release
from tests.e2e.nebius.lab import Slurm

NAMES = {
    "slurmctld": "controller_slurmctld",
    "slurmdbd": "slurmdbd",
    "slurmrestd": "slurmrestd",
    "slurmd": "worker_slurmd",
    "sshd": "login_sshd",
    "munge": "munge",
    "populateJail": "populate_jail",
    "mariaDB": "mariadb",
}
OURS = f"{LOCAL}/slurmery:{slurmery.__version__}"


def values() -> dict[str, Any]:
    """Those of the guide, with images that the nodes have, and a port that no other test wants."""
    given: dict[str, Any] = yaml.safe_load(
        (paths.ROOT / "charts/slurm-cluster/ci/small-values.yaml").read_text()
    )
    images = {key: f"{LOCAL}/{name}:{release()}" for key, name in NAMES.items()}
    given["images"] = {**images, "sConfigController": OURS, "soperatorExporter": OURS}
    given["slurmNodes"]["login"]["sshdServiceNodePort"] = 30023
    return given


@pytest.fixture(scope="module")
def helm(cluster: Cluster) -> Helm:
    return Embedded().helm()


@pytest.fixture(scope="module")
def slurm(installed: Kubectl, helm: Helm) -> Iterator[Slurm]:
    """The cluster, available, with both its workers idle."""
    slurm = Slurm(installed, "fjord-from-values", "fjord")
    helm.install("slurm", "slurm-cluster", slurm.namespace, values())
    try:
        slurm.wait("the cluster is available", lambda: slurm.phase() == "Available")
        slurm.wait("both workers are idle", lambda: slurm.states() == {f"worker-{n}": "idle" for n in (0, 1)})
        yield slurm
    finally:
        slurm.kubectl("delete", "slurmcluster", slurm.name, "--timeout=180s")
        installed("delete", "namespace", slurm.namespace, "--timeout=120s")


def test_jobs_run_in_the_jail_after_the_checks_of_the_prolog(slurm: Slurm) -> None:
    assert sorted(slurm.run("srun", "-N2", "hostname").split()) == ["worker-0", "worker-1"]

    config = slurm.run("scontrol", "show", "config")
    assert "/opt/slurm_scripts/prolog.sh" in config
    slurm.wait(
        "the prolog's checks told of themselves",
        lambda: "prolog.out" in slurm.run("ls", "/opt/soperator-outputs/slurm_scripts"),
    )
    slurm.wait("no check has drained a worker", lambda: set(slurm.states().values()) == {"idle"})


def test_every_pod_of_the_values_runs(slurm: Slurm) -> None:
    def ready() -> bool:
        statuses = [each["status"].get("containerStatuses", []) for each in slurm.get("pods")["items"]]
        return all(one["ready"] for each in statuses for one in each if "terminated" not in one["state"])

    slurm.wait("every container is ready", ready)


@pytest.fixture
def checks(helm: Helm) -> Iterator[None]:
    """Their program, which looks at every cluster and must not stay."""
    image = {"repository": f"{LOCAL}/slurmery", "tag": slurmery.__version__}
    helm.install("soperatorchecks", "soperatorchecks", NAMESPACE, {"checks": {"manager": {"image": image}}})
    yield
    helm.uninstall("soperatorchecks", NAMESPACE)


@pytest.mark.usefixtures("checks")
def test_checks_of_the_chart_pass(slurm: Slurm, helm: Helm) -> None:
    wanted = {
        "slurmClusterRefName": slurm.name,
        "images": {"k8sJob": f"{LOCAL}/login_sshd:{release()}"},
        "clusterType": "cpu",
        # Two hundredths of a CPU of a busy machine are slow, and uneven.
        "checks": {"cpu-perf": {"enabled": False}},
    }
    helm.install("checks", "soperator-activechecks", slurm.namespace, wanted)

    def ended() -> dict[str, str]:
        found = {}
        for each in json.loads(slurm.kubectl("get", "activechecks", "-o", "json"))["items"]:
            status = each.get("status", {})
            pod, job = status.get("k8sJobsStatus") or {}, status.get("slurmJobsStatus") or {}
            found[each["metadata"]["name"]] = pod.get("lastJobStatus") or job.get("lastRunStatus", "")
        return found

    slurm.wait("all checks have passed", lambda: set(ended().values()) == {"Complete"})
    assert set(ended()) == {"create-user-soperatorchecks", "ssh-check", "mem-perf", "disk-perf"}


def test_an_upgrade_without_a_change_touches_no_pod(slurm: Slurm, helm: Helm) -> None:
    def pods() -> dict[str, str]:
        found = slurm.get("pods")["items"]
        return {
            each["metadata"]["name"]: each["metadata"]["uid"]
            for each in found
            if each["metadata"]["labels"].get("app.kubernetes.io/managed-by") == "slurm-operator"
        }

    before = pods()
    helm.install(
        "slurm", "slurm-cluster", slurm.namespace, {**values(), "annotations": {"example.com/a": "b"}}
    )
    slurm.wait("the annotation", lambda: "annotations" in slurm.get("slurmcluster", slurm.name)["metadata"])

    assert pods() == before
