"""An API server with the garbage collector and the workload controllers of Kubernetes, and our operator."""

import asyncio
import uuid
from collections.abc import AsyncIterator, Iterator

import pytest

from dev.controlplane import ControlPlane
from slurmery.api import slinky
from slurmery.kube import config
from slurmery.kube.client import Client
from slurmery.kube.meta import Key
from slurmery.kube.resources import NAMESPACES
from tests.controlplane.definitions import define

from .scene import Operator, Scene


@pytest.fixture(scope="session")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """Pods are made, though nobody runs them."""
    with ControlPlane(tmp_path_factory.mktemp("slinky")) as plane:
        plane.start_controller_manager()
        asyncio.run(define(plane, slinky.KINDS))
        yield plane


@pytest.fixture
async def client(plane: ControlPlane) -> AsyncIterator[Client]:
    async with Client(config.load(plane.kubeconfig)) as client:
        yield client


@pytest.fixture
async def scene(plane: ControlPlane, client: Client) -> AsyncIterator[Scene]:
    """A namespace of the test's own, with the Secrets that clusters need."""
    name = f"test-{uuid.uuid4().hex[:8]}"
    await client.create(NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    yield Scene(plane, client, name)
    await client.delete(NAMESPACES, Key("", name))


@pytest.fixture
async def operator(scene: Scene) -> AsyncIterator[Operator]:
    """Our operator at work in that namespace."""
    operator = Operator(scene)
    await operator.start()
    yield operator
    await operator.stop()
