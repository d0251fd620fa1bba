"""The figures of the repair of nodes: 1,000 kwok nodes, a real API server and a real slurmctld.

Some nodes flap, some are to be replaced: what that costs Kubernetes and Slurm, and how many are away at once.
"""

import asyncio
import base64
import json
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.cloud import cloud
from bench.figure import Figure
from dev.controlplane import ControlPlane
from dev.slurm_lab import SlurmLab
from slurmery.api import nebius
from slurmery.api.crd import crd
from slurmery.health.repair import policy as names
from slurmery.health.repair.policy import Policy, Response
from slurmery.health.repair.program import Repair
from slurmery.health.world import world
from slurmery.kube import config
from slurmery.kube.client import Client
from slurmery.kube.errors import NotFoundError
from slurmery.kube.meta import Key
from slurmery.kube.resources import (
    CUSTOM_RESOURCE_DEFINITIONS,
    NAMESPACES,
    NODES,
    PODS,
    SECRETS,
    SERVICE_ACCOUNTS,
)
from slurmery.kube.runtime import Listen, Runtime
from slurmery.nebius.kinds import SLURM_CLUSTERS
from slurmery.slurm.snapshot import Part
from tests.unit.nebius.clusters import manifest

COUNT = 1000
FLAPPING, FLAPS = 100, 3
REPLACED, BUDGET = 12, 3
NAMESPACE, CLUSTER, AGENT = "slurm", "orion", "bench-health"
INTERVALS = {Part.NODES: 1.0, Part.JOBS: 1.0}
POLICY = Policy(conditions={"KernelDeadlock": Response.DRAIN, "Broken": Response.REPLACE}, budget=BUDGET)


def figures() -> Iterator[Figure]:
    """Measure everything."""
    with tempfile.TemporaryDirectory() as folder, ControlPlane(Path(folder, "plane")) as plane:
        plane.start_kwok()
        with cloud(Path(folder, "slurm"), COUNT) as lab:
            yield from asyncio.run(_measured(_Bench(plane, lab, Path(folder, "slurm", "log"))))


@dataclass
class _Bench:
    plane: ControlPlane
    lab: SlurmLab
    log: Path

    def writes(self) -> int:
        """Writes of the program to the API server so far."""
        entries = map(json.loads, self.plane.audit_log.read_text().splitlines())
        return sum(
            each.get("userAgent") == AGENT and each["verb"] not in {"get", "list", "watch"}
            for each in entries
        )

    def words(self) -> int:
        """What Slurm was told so far."""
        return self.log.read_text(errors="replace").count(" POST /slurm/")


async def _measured(bench: _Bench) -> list[Figure]:
    async with Client(config.load(bench.plane.kubeconfig)) as client:
        await _prepare(client, bench.lab.key)
        async with _program(bench):
            found = await _quiet(bench, client)
            found += await _flapping(bench, client)
            return found + await _replaced(client)


async def _quiet(bench: _Bench, client: Client) -> list[Figure]:
    await asyncio.sleep(10)
    writes, words, begin = bench.writes(), bench.words(), time.process_time()
    await _each(client, range(1, COUNT + 1), names.READY, "True")
    await asyncio.sleep(5)
    return [
        Figure("1,000 nodes, heartbeats: writes", bench.writes() - writes, 0, "requests"),
        Figure("1,000 nodes, heartbeats: words to Slurm", bench.words() - words, 0, "requests"),
        Figure("1,000 nodes, heartbeats: the whole process", time.process_time() - begin, 10, "CPU-s"),
    ]


async def _flapping(bench: _Bench, client: Client) -> list[Figure]:
    writes, words = bench.writes(), bench.words()
    for number in range(2 * FLAPS):
        await _each(client, range(1, FLAPPING + 1), "KernelDeadlock", "False" if number % 2 else "True")
        await asyncio.sleep(4)
    await asyncio.sleep(10)
    changes = 2 * FLAPS * FLAPPING
    # For each change one word, and an Event about the node; those about the cluster are few, being so many.
    return [
        Figure("600 changes of conditions: words to Slurm", bench.words() - words, changes, "requests"),
        Figure("600 changes of conditions: writes", bench.writes() - writes, 1.5 * changes, "requests"),
    ]


async def _replaced(client: Client) -> list[Figure]:
    broken = range(COUNT - REPLACED + 1, COUNT + 1)
    begin, most, left = time.monotonic(), 0, set(broken)
    await _each(client, broken, "Broken", "True")
    while left:
        assert time.monotonic() < begin + 240, f"{left} were not replaced"
        nodes = {each["metadata"]["name"]: each for each in (await client.list(NODES)).items}
        asked = [name for name, node in nodes.items() if _status(node, names.DRAIN) == "True"]
        most = max(most, len(asked) + COUNT - len(nodes))
        for name in asked:
            with suppress(NotFoundError):
                await client.delete(PODS, Key(NAMESPACE, f"worker-{_number(name)}"), grace_seconds=0)
                await _say(client, _number(name), names.DRAIN, "True", names.DRAINED)
        for number in [each for each in left if _name(each) not in nodes]:
            await _make(client, number)
            left.discard(number)
        await asyncio.sleep(0.3)
    return [
        Figure(f"{REPLACED} nodes replaced: away at once", most, BUDGET, "nodes"),
        Figure(f"{REPLACED} nodes replaced", time.monotonic() - begin, 240, "s"),
    ]


@asynccontextmanager
async def _program(bench: _Bench) -> AsyncIterator[None]:
    async with Client(config.load(bench.plane.kubeconfig), user_agent=AGENT) as client:
        runtime = Runtime(client, "bench", Listen())
        around = world(runtime, reach=lambda _: bench.lab.url, intervals=INTERVALS)
        around.slurms.wire()
        Repair(POLICY).wire(runtime, around)
        running = asyncio.create_task(runtime.run())
        try:
            yield
        finally:
            runtime.stop()
            await running
            await around.slurms.close()


async def _prepare(client: Client, key: bytes) -> None:
    for kind in nebius.KINDS:
        await client.apply(CUSTOM_RESOURCE_DEFINITIONS, crd(kind), manager="bench")
    await client.create(NAMESPACES, {"metadata": {"name": NAMESPACE}})
    await client.create(SERVICE_ACCOUNTS, {"metadata": {"name": "default", "namespace": NAMESPACE}})
    secret = {"name": f"{CLUSTER}-rest-jwt-key", "namespace": NAMESPACE}
    await client.apply(
        SECRETS,
        {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": secret,
            "data": {"rest_jwt.key": base64.b64encode(key).decode()},
        },
    )
    cluster = {
        **manifest("1.22", "SlurmCluster"),
        "metadata": {"name": CLUSTER, "namespace": NAMESPACE},
    }
    async with asyncio.timeout(30):
        while True:  # until the API server serves the new kind
            with suppress(NotFoundError):
                await client.create(SLURM_CLUSTERS, cluster)
                break
            await asyncio.sleep(0.2)
    await _all(_make(client, number) for number in range(1, COUNT + 1))


async def _make(client: Client, number: int) -> None:
    """A node that kwok runs, and a worker on it."""
    node = {"metadata": {"name": _name(number), "annotations": {"kwok.x-k8s.io/node": "fake"}}}
    await client.create(NODES, node)
    labels = {
        "app.kubernetes.io/name": "slurmcluster",
        "app.kubernetes.io/instance": CLUSTER,
        "app.kubernetes.io/component": "worker",
        "app.kubernetes.io/managed-by": "slurm-operator",
    }
    pod = {
        "metadata": {"name": f"worker-{number}", "namespace": NAMESPACE, "labels": labels},
        "spec": {"nodeName": _name(number), "containers": [{"name": "slurmd", "image": "slurmd"}]},
    }
    await client.create(PODS, pod)


async def _each(client: Client, numbers: range, kind: str, status: str) -> None:
    await _all(_say(client, number, kind, status) for number in numbers)


async def _say(client: Client, number: int, kind: str, status: str, reason: str = "Bench") -> None:
    now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    condition = {"type": kind, "status": status, "reason": reason, "lastHeartbeatTime": now}
    if kind != names.READY:
        condition["lastTransitionTime"] = now
    await client.patch(
        NODES,
        Key("", _name(number)),
        {"status": {"conditions": [condition]}},
        kind="strategic",
        subresource="status",
    )


async def _all(work: Iterator[Any]) -> None:
    async def some() -> None:
        for one in work:
            await one

    await asyncio.gather(*(some() for _ in range(16)))


def _status(node: Any, kind: str) -> str:
    found = {each["type"]: str(each["status"]) for each in node["status"].get("conditions", ())}
    return found.get(kind, "")


def _name(number: int) -> str:
    return f"node-{number}"


def _number(name: str) -> int:
    return int(name.removeprefix("node-"))
