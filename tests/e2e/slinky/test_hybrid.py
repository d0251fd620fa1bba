"""The hybrid example: workers join a slurmctld that the operator did not make."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from dev import example as published
from dev.kubectl import Kubectl
from dev.target import LOCAL, release
from tests.e2e.slinky.lab import Slurm, slurm_cluster


@pytest.fixture(scope="module")
def slurm(installed: Kubectl) -> Iterator[Slurm]:
    example = published.manifest(LOCAL, release(), "05-hybrid/workers.yaml")
    headnode = Path(__file__).with_name("headnode.yaml").read_text()
    assert "headnode.example.org" in example
    manifest = f"{headnode}\n---\n{example.replace('headnode.example.org', 'headnode')}"
    with slurm_cluster(installed, "hybrid", manifest) as slurm:
        yield slurm


def on_headnode(slurm: Slurm, *command: str) -> str:
    return slurm.kubectl("exec", "headnode", "--", *command)


def states(slurm: Slurm) -> dict[str, str]:
    lines = on_headnode(slurm, "sinfo", "-h", "-N", "-o", "%N %T").splitlines()
    return dict(line.split() for line in lines)


def test_workers_join_a_slurmctld_from_elsewhere(slurm: Slurm) -> None:
    slurm.wait("both join", lambda: states(slurm) == {"workers-0": "idle", "workers-1": "idle"})

    assert sorted(on_headnode(slurm, "srun", "-N2", "hostname").split()) == ["workers-0", "workers-1"]
    made = slurm.kubectl("get", "statefulsets,configmaps", "-o", "name")
    assert "statefulset" not in made


def test_scale_in_drains_at_the_slurmctld_from_elsewhere(slurm: Slurm) -> None:
    def idle() -> int:
        nodeset = json.loads(slurm.kubectl("get", "nodeset", "workers", "-o", "json"))
        return int(nodeset["status"].get("slurmIdle", 0))

    slurm.wait("Slurm tells of both", lambda: idle() == 2)
    submit = ("sbatch", "--parsable", "-w", "workers-1", "-o", "/dev/null", "--wrap", "sleep 3600")
    job = on_headnode(slurm, *submit).strip()
    slurm.wait("the job runs", lambda: states(slurm)["workers-1"] in ("allocated", "mixed"))
    slurm.kubectl("scale", "nodeset", "workers", "--replicas=1")
    slurm.wait("the worker drains", lambda: states(slurm)["workers-1"] == "draining")

    assert "workers-1" in slurm.workers()
    on_headnode(slurm, "scancel", job)
    slurm.wait("the worker is gone", lambda: "workers-1" not in slurm.workers())
