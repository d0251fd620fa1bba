"""The operator in its own image, and the example cluster it makes."""

from collections.abc import Iterator

import pytest

from dev import example, operator
from dev.kubectl import Kubectl
from dev.target import LOCAL, Embedded, release
from tests.e2e.slinky.lab import Slurm, slurm_cluster


@pytest.fixture(scope="session")
def installed(kubectl: Kubectl) -> Kubectl:
    """The operator runs as its charts install it, with least rights and its webhooks on."""
    target = Embedded()
    operator.install(kubectl, target.helm(), target.registry, target.content(), print)
    return kubectl


@pytest.fixture(scope="module")
def slurm(installed: Kubectl) -> Iterator[Slurm]:
    """The example, with both its workers idle."""
    with slurm_cluster(installed, "slinky", example.manifest(LOCAL, release())) as slurm:
        slurm.wait("two idle workers", slurm.settled)
        yield slurm
