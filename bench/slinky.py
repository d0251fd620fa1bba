"""The figures of the Slinky front door: twenty clusters at once, and one large NodeSet."""

import asyncio
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from bench.figure import Figure
from bench.kubelet import kubelet
from bench.operator import operator
from dev.controlplane import ControlPlane
from slurmery.api import slinky
from slurmery.api.crd import crd
from slurmery.doors.marks import FORCE
from slurmery.doors.views import Custom
from slurmery.kube import config
from slurmery.kube.client import Client
from slurmery.kube.meta import Key, Manifest, Resource
from slurmery.kube.resources import (
    CUSTOM_RESOURCE_DEFINITIONS,
    NAMESPACES,
    NODES,
    SECRETS,
    SERVICE_ACCOUNTS,
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
IDLE_SECONDS = 60
PATIENCE = 900.0
HOSTS = 40
KEYS = {"slurmKeyRef": {"name": "keys", "key": "slurm.key"}, "jwtKeyRef": {"name": "keys", "key": "jwt.key"}}


def figures() -> Iterator[Figure]:
    """Measure everything; a figure comes when it is known."""
    with tempfile.TemporaryDirectory() as folder, ControlPlane(Path(folder)) as plane:
        asyncio.run(_define(plane))
        asyncio.run(_populate(plane))
        yield from _starting(plane)
    with tempfile.TemporaryDirectory() as folder, ControlPlane(Path(folder)) as plane:
        asyncio.run(_define(plane))
        yield from _growing(plane)


def _starting(plane: ControlPlane) -> Iterator[Figure]:
    """Twenty clusters that wait for an operator."""
    with operator(plane) as running:
        running.rest(least=CLUSTERS * REPLICAS)
        requests = running.requests()
        made = [each for each in requests if each.writes and _makes(each.resource, each.subresource)]
        cpu, writes = running.cpu, running.writes()
        present = asyncio.run(_present(plane))
        words = f"{CLUSTERS} clusters, {CLUSTERS * REPLICAS:,} pods"
        yield Figure(f"{words}: all there", max(each.at for each in made) - running.started, 15, "s")
        yield Figure(f"{words}: writes per object", writes / present, 1.1, f"of {writes:,}")
        yield Figure(f"{words}: CPU", cpu, 20, "CPU-s")
        before = running.cpu, len(running.requests()), running.writes()
        time.sleep(IDLE_SECONDS)
        yield Figure("idle minute: writes", running.writes() - before[2], 0, "requests")
        yield Figure("idle minute: CPU", running.cpu - before[0], 0.5, "CPU-s")
        yield Figure(f"{words}: memory", running.mebibytes, 150, "MiB")


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


def _makes(resource: str, subresource: str) -> bool:
    """Whether a write is one of an object that must exist."""
    return not subresource and resource not in {"events", *(kind.plural for kind in KINDS)}


async def _present(plane: ControlPlane) -> int:
    """How many objects must exist: all that the operator has made, and a status for each of the users'."""
    async with _client(plane) as client:
        made = len(await _owned(client))
        for kind in KINDS:
            users = (await client.list(kind, as_=Custom)).items
            assert all(each.status for each in users)
            made += len(users)
    return made


async def _owned(client: Client) -> list[Manifest]:
    found: list[Manifest] = []
    for group, names in {
        "": "pods services configmaps secrets persistentvolumeclaims",
        "apps": "statefulsets deployments controllerrevisions",
        "policy": "poddisruptionbudgets",
    }.items():
        for plural in names.split():
            listed = await client.list(Resource(group, "v1", plural, plural), "slurm")
            found += [each for each in listed.items if each["metadata"].get("ownerReferences")]
    pods = sum(each["metadata"]["labels"].get("app.kubernetes.io/name") == "slurmd" for each in found)
    assert pods >= CLUSTERS * REPLICAS, f"only {pods} objects of workers"
    return found


async def _change(plane: ControlPlane, namespace: str, spec: Mapping[str, Any], size: int) -> None:
    """Change the NodeSet, and wait until all of its workers are as it says, and ready."""
    key = Key(namespace, "gpu")
    async with asyncio.timeout(PATIENCE), _client(plane) as client:
        changed = await client.patch(NODE_SETS, key, {"spec": spec})
        while True:
            await asyncio.sleep(1)
            status = (await client.get(NODE_SETS, key)).get("status", {})
            new = status.get("observedGeneration") == changed["metadata"]["generation"]
            counts = {status.get(name) for name in ("replicas", "readyReplicas", "updatedReplicas")}
            if new and counts == {size}:
                return


def _client(plane: ControlPlane) -> Client:
    """Ours, which is not to be taken for the operator's."""
    return Client(config.load(plane.kubeconfig), user_agent="bench")


async def _define(plane: ControlPlane) -> None:
    async with _client(plane) as client:
        for kind in slinky.KINDS:
            await client.apply(CUSTOM_RESOURCE_DEFINITIONS, crd(kind), manager="bench")
    names = [f"crd/{kind.place.plural}.{kind.place.group}" for kind in slinky.KINDS]
    plane.kubectl("wait", "--for=condition=Established", "--timeout=30s", *names)


async def _populate(plane: ControlPlane) -> None:
    async with _client(plane) as client:
        await _namespace(client, "slurm")
        for number in range(CLUSTERS):
            name = f"c{number}"
            login = {"login": {"image": "login"}, "sssdConfRef": {"name": "sssd", "key": "sssd.conf"}}
            await _create(client, CONTROLLERS, name, "slurm", {**KEYS, "slurmctld": {"image": "slurmctld"}})
            await _create(client, LOGIN_SETS, name, "slurm", {"controllerRef": {"name": name}, **login})
            await _create(client, NODE_SETS, name, "slurm", _workers(name, REPLICAS))


async def _cluster(plane: ControlPlane, namespace: str) -> None:
    async with _client(plane) as client:
        await _namespace(client, namespace)
        for number in range(HOSTS):
            metadata = {"name": f"{namespace}-{number}"}
            await client.create(NODES, {"apiVersion": "v1", "kind": "Node", "metadata": metadata})
        await _create(client, CONTROLLERS, "slurm", namespace, {**KEYS, "slurmctld": {"image": "slurmctld"}})
        # There is no Slurm to drain them: a person says that jobs do not matter.
        spec = {**_workers("slurm", 0), "oversubscribeNode": True}
        await _create(client, NODE_SETS, "gpu", namespace, spec, notes={FORCE: "true"})


def _workers(controller: str, replicas: int) -> dict[str, Any]:
    images = {"slurmd": {"image": "slurmd"}, "logfile": {"image": "alpine"}}
    return {"controllerRef": {"name": controller}, "replicas": replicas, **images}


async def _namespace(client: Client, name: str) -> None:
    await client.create(NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    account = {"apiVersion": "v1", "kind": "ServiceAccount"}
    # Pods are refused without it, and the controller that would make it does not run here.
    await client.create(SERVICE_ACCOUNTS, {**account, "metadata": {"name": "default", "namespace": name}})
    secrets = {"keys": ("slurm.key", "jwt.key"), "sssd": ("sssd.conf",)}
    for secret, keys in secrets.items():
        head = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": secret, "namespace": name}}
        await client.create(SECRETS, {**head, "data": dict.fromkeys(keys, "a2V5")})


async def _create(  # noqa: PLR0913 - what an object is made of
    client: Client,
    kind: Resource,
    name: str,
    namespace: str,
    spec: Manifest,
    *,
    notes: Mapping[str, str] | None = None,
) -> None:
    metadata = {"name": name, "namespace": namespace, "annotations": notes or {}}
    head = {"apiVersion": kind.api_version, "kind": kind.kind}
    await client.create(kind, {**head, "metadata": metadata, "spec": spec})
