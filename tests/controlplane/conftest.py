"""A real etcd and kube-apiserver for every test process."""

from collections.abc import Iterator

import pytest

from dev.controlplane import ControlPlane


@pytest.fixture(scope="session")
def control_plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """One control plane per test process. Tests keep apart by namespaces of their own."""
    with ControlPlane(tmp_path_factory.mktemp("plane")) as plane:
        yield plane


@pytest.fixture
def private_plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """A control plane for one test that breaks or fills it."""
    with ControlPlane(tmp_path_factory.mktemp("private")) as plane:
        yield plane
