"""The figures of the Slinky front door: twenty clusters at once, and one large NodeSet."""

import asyncio
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from bench import fleet
from bench.figure import Figure
from bench.fleet import Fleet, Limits
from bench.kubelet import kubelet
from bench.operator import operator
from dev.controlplane import ControlPlane
from slurmery.api import slinky
from slurmery.doors.marks import FORCE
from slurmery.kube.client import Client
from slurmery.kube.meta import Key
from slurmery.kube.resources import (
    NODES,
    SECRETS,
)
from slurmery.slinky.kinds import CONTROLLERS, LOGIN_SETS, NODE_SETS

CLUSTERS = 20
REPLICAS = 50
KINDS = (CONTROLLERS, LOGIN_SETS, NODE_SETS)
SIZES = (500, 1000, 2000)
# With the requests for each pod: created; then marked, deleted and created.
STEPS: tuple[tuple[str, Mapping[str, Any], float], ...] = (
    ("scale up", {}, 1.3),
    ("roll", {"extraConf": "Weight=2"}, 3.3),
)
PATIENCE = 900.0
HOSTS = 40
_MADE = {
    "/v1": "pods services configmaps secrets persistentvolumeclaims",
    "apps/v1": "statefulsets deployments controllerrevisions",
    "policy/v1": "poddisruptionbudgets",
}
KEYS = {"slurmKeyRef": {"name": "keys", "key": "slurm.key"}, "jwtKeyRef": {"name": "keys", "key": "jwt.key"}}


def figures() -> Iterator[Figure]:
    """Measure everything; a figure comes when it is known."""
    with tempfile.TemporaryDirectory() as folder, ControlPlane(Path(folder)) as plane:
        asyncio.run(fleet.define(plane, slinky.KINDS))
        asyncio.run(_populate(plane))
        yield from _starting(plane)
    with tempfile.TemporaryDirectory() as folder, ControlPlane(Path(folder)) as plane:
        asyncio.run(fleet.define(plane, slinky.KINDS))
        yield from _growing(plane)


def _starting(plane: ControlPlane) -> Iterator[Figure]:
    """Twenty clusters that wait for an operator."""
    made = Fleet(f"{CLUSTERS} clusters, {CLUSTERS * REPLICAS:,} pods", KINDS, _made, CLUSTERS * REPLICAS)
    with operator(plane) as running:
        yield from fleet.figures(plane, running, made, Limits(seconds=15, cpu=20, mebibytes=150))


def _growing(plane: ControlPlane) -> Iterator[Figure]:
    """One NodeSet that comes up, and is replaced as a whole: a pod costs the same however many there are."""
    costs: dict[tuple[str, int], float] = {}
    for size in SIZES:
        namespace = f"fleet-{size}"
        asyncio.run(_cluster(plane, namespace))
        with (
            operator(plane, f"--namespaces={namespace}") as running,
            kubelet(plane, namespace, HOSTS),
        ):
            running.rest(3)
            for step, change, limit in STEPS:
                cpu, sent = running.cpu, len(running.requests())
                asyncio.run(_change(plane, namespace, {"replicas": size, **change}, size))
                running.rest(2)
                costs[step, size] = (running.cpu - cpu) / size * 1000
                asked = (len(running.requests()) - sent) / size
                yield Figure(f"{step} {size:,} workers: CPU per pod", costs[step, size], 9, "CPU-ms")
                yield Figure(f"{step} {size:,} workers: requests per pod", asked, limit, "requests")
    for step, _, _ in STEPS:
        growth = costs[step, SIZES[-1]] / costs[step, SIZES[0]]
        yield Figure(f"{step}: a pod of {SIZES[-1]:,} to one of {SIZES[0]:,}", growth, 1.5, "times")


async def _made(ours: Client) -> int:
    found = await fleet.owned(ours, "slurm", _MADE)
    pods = sum(each["metadata"]["labels"].get("app.kubernetes.io/name") == "slurmd" for each in found)
    assert pods >= CLUSTERS * REPLICAS, f"only {pods} objects of workers"
    return len(found)


async def _change(plane: ControlPlane, namespace: str, spec: Mapping[str, Any], size: int) -> None:
    """Change the NodeSet, and wait until all of its workers are as it says, and ready."""
    key = Key(namespace, "gpu")
    async with asyncio.timeout(PATIENCE), fleet.client(plane) as client:
        changed = await client.patch(NODE_SETS, key, {"spec": spec})
        while True:
            await asyncio.sleep(1)
            status = (await client.get(NODE_SETS, key)).get("status", {})
            new = status.get("observedGeneration") == changed["metadata"]["generation"]
            counts = {status.get(name) for name in ("replicas", "readyReplicas", "updatedReplicas")}
            if new and counts == {size}:
                return


async def _populate(plane: ControlPlane) -> None:
    async with fleet.client(plane) as client:
        await _namespace(client, "slurm")
        for number in range(CLUSTERS):
            name = f"c{number}"
            login = {"login": {"image": "login"}, "sssdConfRef": {"name": "sssd", "key": "sssd.conf"}}
            await fleet.create(
                client, CONTROLLERS, ("slurm", name), {**KEYS, "slurmctld": {"image": "slurmctld"}}
            )
            await fleet.create(
                client, LOGIN_SETS, ("slurm", name), {"controllerRef": {"name": name}, **login}
            )
            await fleet.create(client, NODE_SETS, ("slurm", name), _workers(name, REPLICAS))


async def _cluster(plane: ControlPlane, namespace: str) -> None:
    async with fleet.client(plane) as client:
        await _namespace(client, namespace)
        for number in range(HOSTS):
            metadata = {"name": f"{namespace}-{number}"}
            await client.create(NODES, {"apiVersion": "v1", "kind": "Node", "metadata": metadata})
        await fleet.create(
            client, CONTROLLERS, (namespace, "slurm"), {**KEYS, "slurmctld": {"image": "slurmctld"}}
        )
        # There is no Slurm to drain them: a person says that jobs do not matter.
        spec = {**_workers("slurm", 0), "oversubscribeNode": True}
        await fleet.create(client, NODE_SETS, (namespace, "gpu"), spec, notes={FORCE: "true"})


def _workers(controller: str, replicas: int) -> dict[str, Any]:
    images = {"slurmd": {"image": "slurmd"}, "logfile": {"image": "alpine"}}
    return {"controllerRef": {"name": controller}, "replicas": replicas, **images}


async def _namespace(client: Client, name: str) -> None:
    await fleet.namespace(client, name)
    secrets = {"keys": ("slurm.key", "jwt.key"), "sssd": ("sssd.conf",)}
    for secret, keys in secrets.items():
        head = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": secret, "namespace": name}}
        await client.create(SECRETS, {**head, "data": dict.fromkeys(keys, "a2V5")})
