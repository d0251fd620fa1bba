"""The example with a standby: the machine of the active slurmctld fails, and jobs go on."""

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from dev import example
from dev.kubectl import Kubectl
from dev.target import LOCAL, release
from tests.e2e.slinky.lab import Slurm, slurm_cluster

ACTIVE = "controller.slinky.slurm.net/active=true"
FIRST, SECOND = "slurm-controller-0", "slurm-controller-1"


@pytest.fixture(scope="module")
def slurm(installed: Kubectl) -> Iterator[Slurm]:
    manifest = example.manifest(LOCAL, release(), "04-standby/cluster.yaml")
    with slurm_cluster(installed, "standby", manifest) as slurm:
        slurm.wait("two idle workers", slurm.settled)
        slurm.wait("both slurmctld live", lambda: ready(slurm) == {FIRST, SECOND})
        yield slurm


@contextmanager
def no_room(slurm: Slurm) -> Iterator[None]:
    """No pod comes, as if there were no machine for it; those that are there stay."""
    slurm.kubectl("create", "quota", "no-room", "--hard=pods=0")
    try:
        yield
    finally:
        slurm.kubectl("delete", "quota", "no-room")


def ready(slurm: Slurm) -> set[str]:
    pods = json.loads(slurm.kubectl("get", "pods", "-l", "app.kubernetes.io/name=slurmctld", "-o", "json"))
    return {
        pod["metadata"]["name"]
        for pod in pods["items"]
        for each in pod["status"].get("conditions", ())
        if (each["type"], each["status"]) == ("Ready", "True")
    }


def active(slurm: Slurm) -> str:
    return slurm.kubectl("get", "pods", "-l", ACTIVE, "-o", "jsonpath={.items[*].metadata.name}")


def ask(slurm: Slurm, *command: str) -> str:
    """Asked from a worker, which lives through all of it."""
    return slurm.kubectl("exec", "workers-0", "-c", "slurmd", "--", *command)


def test_the_standby_takes_over_and_gives_back_while_a_job_runs(slurm: Slurm) -> None:
    assert active(slurm) == FIRST
    job = ask(slurm, "sbatch", "--parsable", "-o", "/dev/null", "--wrap", "sleep 3600").strip()
    running = ("squeue", "-h", "-j", job, "-o", "%T %N")
    slurm.wait("the job runs", lambda: "RUNNING" in ask(slurm, *running))
    before = ask(slurm, *running)

    with no_room(slurm):
        slurm.kubectl("delete", "pod", FIRST, "--grace-period=0", "--force")
        slurm.wait("the standby works", lambda: ask(slurm, *running) == before)
        assert active(slurm) == SECOND
        began = time.monotonic()
        assert ask(slurm, "srun", "-N2", "-O", "true") == ""
        assert time.monotonic() - began < 10, "commands wait for the one that is gone"

    slurm.wait("the first is back", lambda: active(slurm) == FIRST and ready(slurm) == {FIRST, SECOND})
    slurm.wait("it works", lambda: ask(slurm, *running) == before)
    assert len(ask(slurm, "srun", "-N2", "-O", "hostname").split()) == 2
    ask(slurm, "scancel", job)
    slurm.wait("the job is gone", lambda: ask(slurm, *running).strip() == "")
    slurm.wait("all is well", slurm.settled)
