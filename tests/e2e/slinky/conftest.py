"""The example cluster that the operator makes."""

from collections.abc import Iterator

import pytest

from dev import example
from dev.kubectl import Kubectl
from dev.target import LOCAL, release
from tests.e2e.slinky import department as departments
from tests.e2e.slinky.department import Department
from tests.e2e.slinky.lab import Slurm, slurm_cluster


@pytest.fixture(scope="module")
def slurm(installed: Kubectl) -> Iterator[Slurm]:
    """The example, with both its workers idle."""
    with slurm_cluster(installed, "slinky", example.manifest(LOCAL, release())) as slurm:
        slurm.wait("two idle workers", slurm.settled)
        yield slurm


@pytest.fixture(scope="session")
def department(installed: Kubectl) -> Iterator[Department]:
    """The example with accounting and logins, ready for its users."""
    with departments.department(installed) as department:
        yield department
