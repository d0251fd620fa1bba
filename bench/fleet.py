"""Many clusters that wait for an operator: what it costs to make all their objects, and to have made them."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from bench.figure import Figure
from bench.operator import Operator
from dev.controlplane import ControlPlane
from slurmery.api.crd import crd
from slurmery.api.resource import CustomResource
from slurmery.doors.views import Custom
from slurmery.kube import config
from slurmery.kube.client import Client
from slurmery.kube.meta import Manifest, Resource
from slurmery.kube.resources import CUSTOM_RESOURCE_DEFINITIONS, NAMESPACES, SERVICE_ACCOUNTS

IDLE_SECONDS = 60


@dataclass(frozen=True)
class Fleet:
    """What users made, in words and by kind; `made` finds what the operator made of it, `least` so much."""

    words: str
    kinds: Sequence[Resource]
    made: Callable[[Client], Awaitable[int]]
    least: int


@dataclass(frozen=True)
class Limits:
    """Seconds until all is there, CPU seconds until then and in an idle minute, and MiB at most."""

    seconds: float
    cpu: float
    mebibytes: float
    idle: float = 0.5


def figures(plane: ControlPlane, running: Operator, fleet: Fleet, limits: Limits) -> Iterator[Figure]:
    """From the start of the operator until all is there, and an idle minute after that."""
    running.rest(least=fleet.least)
    kinds = {"events", *(kind.plural for kind in fleet.kinds)}
    last = max(
        each.at
        for each in running.requests()
        if each.writes and not each.subresource and each.resource not in kinds
    )
    cpu, writes = running.cpu, running.writes()
    present = asyncio.run(_present(plane, fleet))
    yield Figure(f"{fleet.words}: all there", last - running.started, limits.seconds, "s")
    yield Figure(f"{fleet.words}: writes per object", writes / present, 1.15, f"of {writes:,}")
    yield Figure(f"{fleet.words}: CPU", cpu, limits.cpu, "CPU-s")
    before = running.cpu, running.writes()
    time.sleep(IDLE_SECONDS)
    yield Figure("idle minute: writes", running.writes() - before[1], 0, "requests")
    yield Figure("idle minute: CPU", running.cpu - before[0], limits.idle, "CPU-s")
    yield Figure(f"{fleet.words}: memory", running.mebibytes, limits.mebibytes, "MiB")


async def _present(plane: ControlPlane, fleet: Fleet) -> int:
    """How many objects must exist: all that the operator has made, and a status for each of the users'."""
    async with client(plane) as ours:
        present = await fleet.made(ours)
        for kind in fleet.kinds:
            users = (await ours.list(kind, as_=Custom)).items
            assert all(each.status for each in users)
            present += len(users)
    return present


def client(plane: ControlPlane) -> Client:
    """Ours, which is not to be taken for the operator's."""
    return Client(config.load(plane.kubeconfig), user_agent="bench")


async def define(plane: ControlPlane, kinds: Sequence[type[CustomResource]]) -> None:
    """Have the API server serve them."""
    async with client(plane) as ours:
        for kind in kinds:
            await ours.apply(CUSTOM_RESOURCE_DEFINITIONS, crd(kind), manager="bench")
    names = [f"crd/{kind.place.plural}.{kind.place.group}" for kind in kinds]
    plane.kubectl("wait", "--for=condition=Established", "--timeout=30s", *names)


async def namespace(ours: Client, name: str) -> None:
    """A namespace in which there may be pods."""
    await ours.create(NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    account = {"apiVersion": "v1", "kind": "ServiceAccount"}
    # Pods are refused without it, and the controller that would make it does not run here.
    await ours.create(SERVICE_ACCOUNTS, {**account, "metadata": {"name": "default", "namespace": name}})


async def owned(ours: Client, where: str | None, kinds: Mapping[str, str]) -> list[Manifest]:
    """All objects that have an owner; `kinds` are plural names by their API group."""
    found: list[Manifest] = []
    for place, names in kinds.items():
        group, _, version = place.rpartition("/")
        for plural in names.split():
            listed = await ours.list(Resource(group, version, plural, plural), where)
            found += [each for each in listed.items if each["metadata"].get("ownerReferences")]
    return found


async def create(
    ours: Client,
    kind: Resource,
    where: tuple[str, str],
    spec: Manifest,
    *,
    notes: Mapping[str, str] | None = None,
) -> None:
    """An object of a user's, by its namespace and name."""
    metadata = {"namespace": where[0], "name": where[1], "annotations": notes or {}}
    head = {"apiVersion": kind.api_version, "kind": kind.kind}
    await ours.create(kind, {**head, "metadata": metadata, "spec": spec})
