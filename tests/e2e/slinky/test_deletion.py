"""The example cluster, taken down while a job runs, as `helm uninstall` does it: all in one moment."""

import json

from dev import example
from dev.kubectl import Kubectl
from dev.refusal import Refusal
from dev.target import LOCAL, release
from tests.e2e.slinky.lab import Slurm, slurm_cluster


def state(slurm: Slurm, job: str) -> str:
    """What slurmctld says of the job; "" when it is gone."""
    try:
        return slurm.run("squeue", "-h", "-t", "all", "-j", job, "-o", "%T").strip()
    except Refusal:
        return ""


def left(slurm: Slurm) -> set[str]:
    found = json.loads(slurm.kubectl("get", "controllers,restapis,nodesets", "-o", "json"))
    return {each["kind"] for each in found["items"]}


def test_a_cluster_that_is_deleted_at_once_ends_its_job_first(installed: Kubectl) -> None:
    manifest = example.manifest(LOCAL, release())
    with slurm_cluster(installed, "going", manifest) as slurm:
        slurm.wait("two idle workers", slurm.settled)
        job = slurm.hold("workers-1", "workers")

        slurm.kubectl("delete", "secret", "slurm-keys")
        slurm.kubectl("delete", "-f", "-", "--wait=false", stdin=manifest)
        slurm.wait("the idle worker is gone", lambda: set(slurm.workers()) == {"workers-1"})
        assert state(slurm, job.number) == "RUNNING"
        assert left(slurm) == {"Controller", "RestApi", "NodeSet"}
        job.release()
        slurm.wait("the job ends", lambda: state(slurm, job.number) == "COMPLETED")
        slurm.wait("all of it is gone", lambda: left(slurm) == set())
