"""NodeConfigurators with a real API server and Kubernetes' own controllers; kwok plays the kubelets."""

import asyncio
import uuid
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from dev.controlplane import ControlPlane
from slurmery.api.nebius import NodeConfigurator
from slurmery.health.configurator.program import NODE_CONFIGURATORS, Configurator
from slurmery.kube import config
from slurmery.kube.client import Client
from slurmery.kube.meta import Key
from slurmery.kube.resources import DAEMON_SETS, NAMESPACES, NODES
from slurmery.kube.runtime import Listen, Runtime
from tests.controlplane.definitions import define
from tests.controlplane.slinky.scene import OPERATOR, Scene, until

SPEC = {
    "rebooter": {"enabled": True, "image": {"repository": "rebooter", "tag": "1"}, "tolerations": []},
    "customContainer": {"enabled": False},
}


@pytest.fixture(scope="module")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    with ControlPlane(tmp_path_factory.mktemp("configurator")) as plane:
        plane.start_controller_manager()
        plane.start_kwok()
        asyncio.run(define(plane, [NodeConfigurator]))
        asyncio.run(_furnish(plane))
        yield plane


async def _furnish(plane: ControlPlane) -> None:
    head: dict[str, Any] = {"name": "fake-0", "annotations": {"kwok.x-k8s.io/node": "fake"}}
    async with Client(config.load(plane.kubeconfig)) as client:
        await client.create(NODES, {"apiVersion": "v1", "kind": "Node", "metadata": head})
    plane.kubectl("wait", "node/fake-0", "--for=condition=Ready", "--timeout=60s")


@pytest.fixture
async def scene(plane: ControlPlane) -> AsyncIterator[Scene]:
    name = f"test-{uuid.uuid4().hex[:8]}"
    async with Client(config.load(plane.kubeconfig)) as client:
        await client.create(NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        yield Scene(plane, client, name)
        await client.delete(NAMESPACES, Key("", name))


@asynccontextmanager
async def operator(scene: Scene) -> AsyncIterator[None]:
    async with Client(config.load(scene.plane.kubeconfig), user_agent=OPERATOR) as client:
        runtime = Runtime(client, "test", Listen())
        Configurator(namespaces=(scene.namespace,)).wire(runtime)
        running = asyncio.create_task(runtime.run())
        try:
            yield
        finally:
            runtime.stop()
            await running


async def test_a_configurator_gets_its_pods_says_so_and_costs_nothing_afterwards(scene: Scene) -> None:
    await scene.create(NODE_CONFIGURATORS, "nodes", SPEC)
    async with operator(scene):
        [made] = await scene.exists(DAEMON_SETS, "nodes-ds")
        assert made["spec"]["template"]["spec"]["hostPID"]
        # Its pods wait for a scheduler, which is not here: nobody may call them ready.
        await scene.says(NODE_CONFIGURATORS, "nodes", "Available", "False", "0 of 1")
        found = await scene.get(NODE_CONFIGURATORS, "nodes")
        assert found
        assert found["status"]["updateStatus"] == "updating"
        assert all("lastUpdateTime" in each for each in found["status"]["conditions"])
        await scene.settled(2.0)
    async with operator(scene):
        await asyncio.sleep(2)
        assert scene.writes() == []


async def test_the_daemon_set_follows_the_spec_and_goes_when_nothing_is_enabled(scene: Scene) -> None:
    await scene.create(NODE_CONFIGURATORS, "nodes", SPEC)
    async with operator(scene):
        await scene.exists(DAEMON_SETS, "nodes-ds")
        await scene.patch(NODE_CONFIGURATORS, "nodes", {"spec": {"rebooter": {"image": {"tag": "2"}}}})

        async def newer() -> bool:
            [found] = await scene.exists(DAEMON_SETS, "nodes-ds")
            [container] = found["spec"]["template"]["spec"]["containers"]
            return bool(container["image"] == "rebooter:2")

        await until(newer)
        await scene.patch(NODE_CONFIGURATORS, "nodes", {"spec": {"rebooter": {"enabled": False}}})

        async def gone() -> bool:
            return await scene.get(DAEMON_SETS, "nodes-ds") is None

        await until(gone)
        await scene.says(NODE_CONFIGURATORS, "nodes", "Available", "False", "enabled")
