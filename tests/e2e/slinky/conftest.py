"""The example cluster that the operator makes."""

from collections.abc import Iterator
from typing import Final

import pytest

from dev import example as published
from dev.kubectl import Kubectl
from dev.target import LOCAL, release
from tests.e2e.slinky import department as departments
from tests.e2e.slinky.department import Department
from tests.e2e.slinky.lab import LEAVING, Slurm, controller, example, manifest, nodeset, slurm_cluster


@pytest.fixture(scope="session", autouse=True)
def swept(installed: Kubectl) -> Iterator[None]:
    """Whatever was made here goes, however much of it goes at once."""
    yield
    if LEAVING:
        names = (f"namespace/{name}" for name in LEAVING)
        installed("wait", "--for=delete", *names, "--timeout=180s")


@pytest.fixture(scope="module")
def slurm(installed: Kubectl) -> Iterator[Slurm]:
    """The example, with both its workers idle."""
    with slurm_cluster(installed, "slinky", published.manifest(LOCAL, release())) as slurm:
        slurm.wait("two idle workers", slurm.settled)
        yield slurm


@pytest.fixture(scope="session")
def department(installed: Kubectl) -> Iterator[Department]:
    """The example with accounting and logins, ready for its users."""
    with departments.department(installed) as department:
        yield department


# Two switches, which only nodes that say so are connected to.
_TOPOLOGY: Final = """\
- topology: anywhere
  cluster_default: true
  flat: true
- topology: tree
  cluster_default: false
  tree:
    switches:
      - switch: spine
        children: leaf[1-2]
      - switch: leaf1
      - switch: leaf2
"""


@pytest.fixture(scope="session")
def shaken(installed: Kubectl) -> Iterator[Slurm]:
    """Idle workers, for tests that touch the machines or the operator, and so every cluster at once."""
    (restapi,), (files,) = example("RestApi"), example("ConfigMap")
    files = {**files, "data": {**files["data"], "topology.yaml": _TOPOLOGY}}
    machines = nodeset("machines", scalingMode="DaemonSet", pruneSlurmNodeRecords="NodeNotFound")
    # Slurm does not hear of the end of these pods, as if their machines had died.
    machines["spec"]["slurmd"] |= {"lifecycle": {"preStop": {"exec": {"command": ["true"]}}}}
    nodesets = (nodeset("workers", 4), nodeset("evict"), machines)
    with slurm_cluster(installed, "shaken", manifest(files, restapi, controller(), *nodesets)) as slurm:
        names = {*(f"workers-{number}" for number in range(4)), "evict-0", "node-0", "node-1"}
        slurm.wait("idle workers", lambda: slurm.idling() == names and len(slurm.ready()) == len(names))
        yield slurm
