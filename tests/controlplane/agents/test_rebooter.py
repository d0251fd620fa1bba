"""The rebooter with a real API server, disruption budgets included; kwok plays the kubelet."""

import asyncio
import json
import time
import uuid
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from dev.controlplane import ControlPlane
from slurmery.agents.rebooter.host import Rehearsal
from slurmery.agents.rebooter.program import Rebooter
from slurmery.agents.rebooter.views import CORDON
from slurmery.health.repair import policy as names
from slurmery.kube import config
from slurmery.kube.client import Client
from slurmery.kube.meta import Key
from slurmery.kube.resources import NODES, POD_DISRUPTION_BUDGETS, PODS
from slurmery.kube.runtime import Listen, Runtime
from tests.controlplane.slinky.scene import until

REBOOTER = "the rebooter under test"
DEFAULT = "default"


class Long:
    """A machine that has run since long ago."""

    def booted(self) -> float:
        return time.time() - 86_400

    async def reboot(self) -> None:
        raise AssertionError("the machine of the tests must not be restarted")


class World:
    """One node of the control plane, and its rebooter."""

    def __init__(self, plane: ControlPlane, client: Client, node: str) -> None:
        self.plane = plane
        self.client = client
        self.node = node
        self.key = Key("", node)

    async def pod(self, name: str, **metadata: Any) -> None:
        head = {"name": f"{self.node}-{name}", "namespace": DEFAULT, "labels": {"app": self.node}, **metadata}
        spec = {
            "nodeName": self.node,
            "containers": [{"name": "main", "image": "main"}],
            "terminationGracePeriodSeconds": 1,
        }
        await self.client.create(PODS, {"apiVersion": "v1", "kind": "Pod", "metadata": head, "spec": spec})

    async def pods(self) -> set[str]:
        found = await self.client.list(PODS, DEFAULT, field_selector=f"spec.nodeName={self.node}")
        return {one["metadata"]["name"].removeprefix(f"{self.node}-") for one in found.items}

    async def budget(self, available: int) -> None:
        spec = {"minAvailable": available, "selector": {"matchLabels": {"app": self.node}}}
        head = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget"}
        metadata = {"name": self.node, "namespace": DEFAULT}
        await self.client.create(POD_DISRUPTION_BUDGETS, {**head, "metadata": metadata, "spec": spec})

        async def counted() -> bool:
            found = await self.client.get(POD_DISRUPTION_BUDGETS, Key(DEFAULT, self.node))
            return bool(found.get("status", {}).get("currentHealthy", 0) >= available)

        await until(counted)

    async def ask(self, kind: str, status: str, reason: str) -> None:
        now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        said = {"type": kind, "status": status, "reason": reason, "message": "", "lastTransitionTime": now}
        patch = {"status": {"conditions": [said]}}
        await self.client.patch(NODES, self.key, patch, kind="strategic", subresource="status")

    async def says(self, kind: str, status: str, reason: str) -> None:
        async def said() -> bool:
            return (await self.condition(kind)) == (status, reason)

        await until(said)

    async def condition(self, kind: str) -> tuple[str, str]:
        node = await self.client.get(NODES, self.key)
        found = {each["type"]: each for each in node["status"].get("conditions", ())}
        return (found[kind]["status"], found[kind]["reason"]) if kind in found else ("", "")

    async def cordoned(self) -> tuple[bool, bool]:
        """Whether the node takes no pods, and whether that is noted as the rebooter's."""
        node = await self.client.get(NODES, self.key)
        return node["spec"].get("unschedulable", False), CORDON in node["metadata"].get("annotations", {})

    def writes(self) -> int:
        events = map(json.loads, self.plane.audit_log.read_text().splitlines())
        return sum(
            event.get("userAgent") == REBOOTER
            and event["verb"] in {"create", "update", "patch", "delete"}
            and event.get("objectRef", {}).get("resource") in {"nodes", "pods"}
            and event["objectRef"].get("name", "").startswith(self.node)
            for event in events
        )

    @asynccontextmanager
    async def rebooter(self) -> AsyncIterator[None]:
        async with Client(config.load(self.plane.kubeconfig), user_agent=REBOOTER) as client:
            runtime = Runtime(client, "test", Listen())
            Rebooter(self.node, Rehearsal(Long()), 600).wire(runtime)
            running = asyncio.create_task(runtime.run())
            try:
                yield
            finally:
                runtime.stop()
                await running


@pytest.fixture(scope="module")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    with ControlPlane(tmp_path_factory.mktemp("rebooter")) as plane:
        plane.start_controller_manager()
        plane.start_kwok()
        plane.kubectl("wait", "serviceaccount/default", "--for=create", "--timeout=60s")
        yield plane


@pytest.fixture
async def world(plane: ControlPlane) -> AsyncIterator[World]:
    name = f"node-{uuid.uuid4().hex[:8]}"
    head = {"name": name, "annotations": {"kwok.x-k8s.io/node": "fake"}}
    async with Client(config.load(plane.kubeconfig)) as client:
        await client.create(NODES, {"apiVersion": "v1", "kind": "Node", "metadata": head})
        plane.kubectl("wait", f"node/{name}", "--for=condition=Ready", "--timeout=60s")
        yield World(plane, client, name)
        await client.delete(NODES, Key("", name))


async def test_a_budget_that_refuses_an_eviction_holds_the_reboot_back(world: World) -> None:
    await world.pod("worker-0")
    await world.pod("worker-1")
    await world.budget(1)
    async with world.rebooter():
        await world.ask(names.REBOOT, "True", names.NEED_REBOOT)
        await world.says(names.DRAIN, "True", names.DRAINING)

        async def one_left() -> bool:
            return len(await world.pods()) == 1

        await until(one_left)
        await asyncio.sleep(7)  # more than the time between two attempts
        assert len(await world.pods()) == 1
        assert await world.condition(names.REBOOT) == ("True", names.NEED_REBOOT)
        assert await world.cordoned() == (True, True)

        await world.client.delete(POD_DISRUPTION_BUDGETS, Key(DEFAULT, world.node))
        await world.says(names.REBOOT, "True", names.REBOOTED)
        assert await world.pods() == set()


async def test_after_the_rehearsed_reboot_the_node_is_open_and_nothing_more_is_written(world: World) -> None:
    await world.pod("worker-0")
    static = {"kubernetes.io/config.mirror": "hash"}
    await world.pod("mirror", annotations=static, ownerReferences=await node_owner(world))
    async with world.rebooter():
        await world.ask(names.REBOOT, "True", names.NEED_REBOOT)
        await world.says(names.REBOOT, "True", names.REBOOTED)
        await world.says(names.DRAIN, "False", "NodeUndrained")
        assert await world.cordoned() == (False, False)
        assert await world.pods() == {"mirror"}
        writes = world.writes()
        await asyncio.sleep(3)
        assert world.writes() == writes
    async with world.rebooter():
        await asyncio.sleep(2)
    assert world.writes() == writes


async def test_a_cordon_of_somebody_else_is_there_after_the_drain_too(world: World) -> None:
    world.plane.kubectl("cordon", world.node)
    await world.pod("worker-0")
    async with world.rebooter():
        await world.ask(names.DRAIN, "True", names.NEED_DRAIN)
        await world.says(names.DRAIN, "True", names.DRAINED)
        assert await world.pods() == set()
        await world.ask(names.DRAIN, "False", names.REBOOTED)
        await asyncio.sleep(2)
        assert await world.cordoned() == (True, False)


async def test_a_reboot_does_not_open_what_somebody_else_has_cordoned(world: World) -> None:
    world.plane.kubectl("cordon", world.node)
    await world.pod("worker-0")
    async with world.rebooter():
        await world.ask(names.REBOOT, "True", names.NEED_REBOOT)
        await world.says(names.REBOOT, "True", names.REBOOTED)
        await world.says(names.DRAIN, "False", "NodeUndrained")
        assert await world.pods() == set()
        assert await world.cordoned() == (True, False)


async def test_a_pod_that_needs_time_to_leave_is_waited_for(world: World) -> None:
    await world.pod("database", finalizers=["example.com/closes-its-files"])
    async with world.rebooter():
        await world.ask(names.REBOOT, "True", names.NEED_REBOOT)
        database = Key(DEFAULT, f"{world.node}-database")

        async def leaving() -> bool:
            return "deletionTimestamp" in (await world.client.get(PODS, database))["metadata"]

        await until(leaving)
        await asyncio.sleep(6)  # more than the time between two looks
        assert await world.pods() == {"database"}
        assert await world.condition(names.DRAIN) == ("True", names.DRAINING)
        assert await world.condition(names.REBOOT) == ("True", names.NEED_REBOOT)
        await world.client.patch(PODS, database, {"metadata": {"finalizers": None}})
        await world.says(names.REBOOT, "True", names.REBOOTED)


async def test_a_drain_is_taken_up_where_a_killed_rebooter_left_it(world: World) -> None:
    await world.pod("worker-0")
    await world.budget(1)
    async with world.rebooter():
        await world.ask(names.DRAIN, "True", names.NEED_DRAIN)
        await world.says(names.DRAIN, "True", names.DRAINING)
    await world.client.delete(POD_DISRUPTION_BUDGETS, Key(DEFAULT, world.node))
    async with world.rebooter():
        await world.says(names.DRAIN, "True", names.DRAINED)
        await world.ask(names.DRAIN, "False", names.REBOOTED)
        await world.says(names.DRAIN, "False", "NodeUndrained")
        assert await world.cordoned() == (False, False)


async def node_owner(world: World) -> list[dict[str, Any]]:
    """What the API server demands of a kubelet's own pods."""
    node = await world.client.get(NODES, world.key)
    uid = node["metadata"]["uid"]
    return [{"apiVersion": "v1", "kind": "Node", "name": world.node, "uid": uid, "controller": True}]
