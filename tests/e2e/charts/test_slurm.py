"""The charts in a real cluster: a Slurm from Helm values, its keys, its upgrade, its end."""

import json
from collections.abc import Iterator

import pytest

from dev.cluster import Cluster
from dev.helm import Helm
from dev.kubectl import Kubectl
from dev.target import LOCAL, Embedded, release
from tests.e2e.slinky.lab import Slurm, unique


def image(name: str) -> dict[str, dict[str, str]]:
    return {"image": {"repository": f"{LOCAL}/{name}", "tag": release()}}


VALUES = {
    "configFiles": {"cgroup.conf": "CgroupPlugin=disabled\n"},
    "controller": {
        "slurmctld": image("slurmctld"),
        "extraConfMap": {
            "ProctrackType": "proctrack/linuxproc",
            "TaskPlugin": "task/none",
            "JobAcctGatherType": "jobacct_gather/none",
            "ReturnToService": 2,
        },
    },
    "restapi": {"slurmrestd": image("slurmrestd")},
    "nodesets": {"main": {"slurmd": {**image("slurmd"), "securityContext": {"privileged": False}}}},
    "partitions": {"all": {"nodesets": ["ALL"], "configMap": {"Default": "YES", "State": "UP"}}},
    "tokens": {"admin": {"username": "slurm"}},
}


@pytest.fixture(scope="module")
def helm(cluster: Cluster) -> Helm:
    return Embedded().helm()


@pytest.fixture(scope="module")
def slurm(installed: Kubectl, helm: Helm) -> Iterator[Slurm]:
    """A cluster from values, with its one worker idle."""
    slurm = Slurm(installed, unique("from-values"))
    helm.install("slurm", "slurm", slurm.namespace, VALUES)
    try:
        slurm.wait("an idle worker", lambda: slurm.states() == {"main-0": "idle"})
        yield slurm
    finally:
        slurm.kubectl("delete", "nodesets", "--all", "--wait=false")
        installed("delete", "namespace", slurm.namespace, "--wait=false")


def test_a_job_runs_in_the_partition_of_the_values(slurm: Slurm) -> None:
    assert slurm.run("srun", "--partition=all", "hostname").split() == ["main-0"]


def test_an_upgrade_keeps_the_keys_and_every_pod(slurm: Slurm, helm: Helm) -> None:
    def world() -> tuple[dict[str, str], dict[str, str]]:
        pods = json.loads(slurm.kubectl("get", "pods", "-o", "json"))["items"]
        keys = json.loads(slurm.kubectl("get", "secrets", "-o", "json"))["items"]
        return (
            {pod["metadata"]["name"]: pod["metadata"]["uid"] for pod in pods},
            {
                key["metadata"]["name"]: json.dumps(key["data"])
                for key in keys
                if "-auth-" in key["metadata"]["name"]
            },
        )

    pods, keys = world()
    assert set(keys) == {"slurm-auth-slurm", "slurm-auth-jwt"}
    helm.install("slurm", "slurm", slurm.namespace, {**VALUES, "tokens": {"other": {"username": "slurm"}}})
    slurm.wait("the new token", lambda: "slurm-token-other" in slurm.kubectl("get", "tokens", "-o", "name"))

    assert world() == (pods, keys)


def test_what_only_a_webhook_can_see_is_refused(slurm: Slurm) -> None:
    slurm.kubectl("create", "configmap", "reserved", "--from-literal=slurm.conf=ours")
    patch = json.dumps({"spec": {"configFileRefs": [{"name": "reserved"}]}})
    done = slurm.attempt("patch", "controller", "slurm", "--type=merge", f"--patch={patch}")

    assert done.returncode
    assert "ConfigMap reserved must not have the key slurm.conf" in done.stderr
