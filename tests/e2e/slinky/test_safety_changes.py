"""Changes of the cluster under running jobs: its configuration, slurmctld's image, its keys."""

import secrets
from collections.abc import Iterator

import pytest

from dev.cluster import Cluster
from dev.kubectl import Kubectl
from tests.e2e.slinky.lab import (
    Job,
    Slurm,
    controller,
    example,
    is_ready,
    manifest,
    nodeset,
    renamed,
    slurm_cluster,
)


@pytest.fixture(scope="module")
def slurm(installed: Kubectl) -> Iterator[Slurm]:
    around = example("ConfigMap", "RestApi")
    with slurm_cluster(installed, "changes", manifest(*around, controller(), nodeset("workers", 2))) as slurm:
        slurm.wait("idle workers", slurm.settled)
        yield slurm


@pytest.fixture
def job(slurm: Slurm) -> Job:
    return slurm.hold("workers-0", "workers")


def slurmctld(slurm: Slurm) -> str:
    """The uid of the pod, once it is ready."""
    pod = slurm.get("pod", "slurm-controller-0")
    going = "deletionTimestamp" in pod["metadata"]
    return str(pod["metadata"]["uid"]) if is_ready(pod) and not going else ""


def other_slurmctld(slurm: Slurm, before: str) -> None:
    slurm.wait("another slurmctld", lambda: slurmctld(slurm) not in ("", before))


def still_there(slurm: Slurm, job: Job, before: dict[str, str]) -> None:
    slurm.wait("slurmctld knows its job", lambda: job.state() == "RUNNING")
    assert slurm.uids() == before, slurm.situation()
    assert job.alive(), slurm.situation()
    job.completes()
    slurm.wait("the workers are idle", slurm.settled)


def test_a_change_of_the_configuration_leaves_the_job_alone(slurm: Slurm, job: Job) -> None:
    old, workers = slurmctld(slurm), slurm.uids()
    slurm.apply(controller("MessageTimeout=17\n"))
    other_slurmctld(slurm, old)
    slurm.wait(
        "the new value", lambda: "17 sec" in slurm.run("sh", "-c", "scontrol show config | grep MessageT")
    )
    still_there(slurm, job, workers)


def test_another_image_of_slurmctld_leaves_the_job_alone(slurm: Slurm, cluster: Cluster, job: Job) -> None:
    old, workers = slurmctld(slurm), slurm.uids()
    image = renamed(cluster, controller()["spec"]["slurmctld"]["image"])
    slurm.patch("controller", "slurm", {"slurmctld": {"image": image}})
    other_slurmctld(slurm, old)
    still_there(slurm, job, workers)


def test_another_jwt_key_leaves_the_job_alone_and_the_operator_can_work(slurm: Slurm, job: Job) -> None:
    old, workers = slurmctld(slurm), slurm.uids()
    slurm.set_key("jwt.key", secrets.token_bytes(32))
    other_slurmctld(slurm, old)
    slurm.patch("nodeset", "workers", {"replicas": 1})
    slurm.wait("the operator drains and deletes", lambda: set(slurm.uids()) == {"workers-0"})
    assert slurm.uids()["workers-0"] == workers["workers-0"]
    slurm.patch("nodeset", "workers", {"replicas": 2})
    slurm.wait("it creates", lambda: slurm.idle("workers-1"))
    still_there(slurm, job, slurm.uids() | {"workers-0": workers["workers-0"]})
