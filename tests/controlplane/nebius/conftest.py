"""An API server with Kubernetes' own controllers, and the Nebius door of our operator."""

import asyncio
import uuid
from collections.abc import AsyncIterator, Iterator

import pytest

from dev.controlplane import ControlPlane
from slurmery.api import nebius
from slurmery.kube import config
from slurmery.kube.client import Client
from slurmery.kube.discovery import Discovery
from slurmery.kube.meta import Key
from slurmery.kube.resources import NAMESPACES
from slurmery.kube.runtime import Listen, Runtime
from slurmery.nebius.door import Door
from slurmery.nebius.sets import Api
from slurmery.nebius.topology.reconcile import Topology
from slurmery.slurm.snapshot import Part
from tests.controlplane.definitions import define
from tests.controlplane.slinky.scene import OPERATOR, Scene
from tests.controlplane.slinky_nodeset.stage import Slurm


@pytest.fixture(scope="session")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """Pods are made, though nobody runs them."""
    with ControlPlane(tmp_path_factory.mktemp("nebius")) as plane:
        plane.start_controller_manager()
        asyncio.run(define(plane, nebius.KINDS))
        yield plane


@pytest.fixture
async def scene(plane: ControlPlane) -> AsyncIterator[Scene]:
    """A namespace of the test's own."""
    name = f"test-{uuid.uuid4().hex[:8]}"
    async with Client(config.load(plane.kubeconfig)) as client:
        await client.create(NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        yield Scene(plane, client, name)
        await client.delete(NAMESPACES, Key("", name))


@pytest.fixture
async def slurm() -> AsyncIterator[Slurm]:
    """A slurmrestd that says of nodes what the test wants; all clusters have it for theirs."""
    async with Slurm().listening() as slurm:
        yield slurm


class Operator:
    """The door at work, in this event loop."""

    def __init__(self, scene: Scene, slurm: Slurm) -> None:
        self.sets = Api.NATIVE
        self._scene = scene
        self._slurm = slurm
        self._runtime: Runtime | None = None
        self._running: asyncio.Task[None] | None = None

    async def start(self) -> None:
        self._running = asyncio.create_task(self._run())

    async def stop(self) -> None:
        if self._running and self._runtime:
            self._runtime.stop()
            await self._running
            self._running = None

    async def _run(self) -> None:
        async with Client(config.load(self._scene.plane.kubeconfig), user_agent=OPERATOR) as client:
            self._runtime = Runtime(client, "test", Listen())
            self._runtime.discovery = Discovery(client, patience=1.0)
            door = Door(
                namespaces=(self._scene.namespace,),
                topology=Topology(),
                sets=self.sets,
                reach=lambda _: self._slurm.url,
                intervals={Part.NODES: 0.6, Part.JOBS: 0.6},
            )
            async with door.open(self._runtime):
                await self._runtime.run()


@pytest.fixture
async def operator(scene: Scene, slurm: Slurm) -> AsyncIterator[Operator]:
    operator = Operator(scene, slurm)
    await operator.start()
    yield operator
    await operator.stop()
