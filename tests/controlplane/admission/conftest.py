"""The twelve kinds on a real API server, a namespace of the test's own, and a webhook that is asked."""

import asyncio
import json
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest

from dev.controlplane import ControlPlane
from slurmery.api.crd import crd
from slurmery.api.kinds import registry
from slurmery.kube import config
from slurmery.kube.client import Client
from slurmery.kube.meta import Key
from slurmery.kube.resources import NAMESPACES
from tests.controlplane.admission.world import World


async def until(condition: Callable[[], Awaitable[bool]], seconds: float = 30) -> None:
    """Wait for something that the world brings about in its own time."""
    async with asyncio.timeout(seconds):
        while not await condition():  # noqa: ASYNC110
            await asyncio.sleep(0.02)


@pytest.fixture(scope="session")
def plane(control_plane: ControlPlane) -> ControlPlane:
    """The control plane with all kinds installed."""
    crds = [crd(kind) for kind in registry()]
    everything = json.dumps({"apiVersion": "v1", "kind": "List", "items": crds})
    control_plane.kubectl("apply", "--server-side", "-f", "-", stdin=everything)
    names = [f"crd/{item['metadata']['name']}" for item in crds]
    control_plane.kubectl("wait", "--for=condition=Established", "--timeout=30s", *names)
    return control_plane


@pytest.fixture
async def world(plane: ControlPlane) -> AsyncIterator[World]:
    """A namespace that nobody watches over yet."""
    name = f"admission-{uuid.uuid4().hex[:8]}"
    async with Client(config.load(plane.kubeconfig)) as client:
        await client.create(NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        world = World(plane, client, name)
        yield world
        await world.forget()
        await client.delete(NAMESPACES, Key("", name))


@pytest.fixture
async def guarded(world: World) -> AsyncIterator[World]:
    """A namespace whose objects the webhook judges."""
    async with world.serving() as running:
        await world.configure(running.port)

        async def ready() -> bool:
            return await world.trusts() and await world.asks()

        await until(ready)
        yield world
