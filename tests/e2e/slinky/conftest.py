"""The operator in its own image, and the example cluster it makes."""

from collections.abc import Iterator

import pytest

from dev import images, operator, paths
from dev.kubectl import Kubectl
from dev.target import release
from tests.e2e.slinky import department as departments
from tests.e2e.slinky.department import Department
from tests.e2e.slinky.lab import Slurm, slurm_cluster


@pytest.fixture(scope="session")
def installed(kubectl: Kubectl) -> Kubectl:
    """The operator runs."""
    wanted = images.wanted(release(), paths.cache() / "images")
    operator.install(kubectl, next(image for image in wanted if image.name == "slurmery"))
    return kubectl


@pytest.fixture(scope="module")
def slurm(installed: Kubectl) -> Iterator[Slurm]:
    """The example, with both its workers idle."""
    manifest = (paths.ROOT / "examples/01-slinky/cluster.yaml").read_text()
    with slurm_cluster(installed, "slinky", manifest) as slurm:
        slurm.wait("two idle workers", slurm.settled)
        yield slurm


@pytest.fixture(scope="session")
def department(installed: Kubectl) -> Iterator[Department]:
    """The example with accounting and logins, ready for its users."""
    with departments.department(installed, "department") as department:
        yield department
