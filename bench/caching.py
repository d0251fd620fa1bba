"""What pods cost us: listing them, keeping a cache of them, and following their changes."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime
from pathlib import Path

import msgspec

from bench import pods
from bench.fresh import Meter
from slurmery.kube import config
from slurmery.kube.client import Client
from slurmery.kube.controller import Controller, Result, TerminalError, controller_of
from slurmery.kube.informer import Informer
from slurmery.kube.meta import Key, Selection, View
from slurmery.kube.observed import OWNER_INDEX
from slurmery.kube.resources import NAMESPACES, PODS

SELECTION = Selection(PODS, pods.NAMESPACE)


class Condition(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """One of the words that a pod says about itself."""

    type: str
    status: str
    reason: str | None = None
    last_transition_time: datetime | None = None


class Status(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """How the pod is."""

    phase: str | None = None
    pod_ip: str | None = msgspec.field(name="podIP", default=None)
    conditions: tuple[Condition, ...] | None = None


class Spec(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """Where the pod is."""

    node_name: str | None = None


class Pod(View, frozen=True, gc=False):
    """What a controller of workers reads of a pod."""

    spec: Spec
    status: Status


def owner(pod: Pod) -> tuple[str, ...]:
    """The index of pods by the uid of their owner."""
    return (pod.controller.uid,) if pod.controller else ()


async def list_in_pages(kubeconfig: str) -> dict[str, float]:
    """One list of all pods, as views."""
    async with _connected(kubeconfig) as client:
        with Meter() as meter:
            listing = await client.fetch(SELECTION, Pod)
        return {"cpu": meter.cpu, "megabytes": meter.megabytes, "pods": len(listing.items)}


async def fill_a_cache(kubeconfig: str) -> dict[str, float]:
    """The same objects as the first events of a watch, into a store with an index."""
    async with _connected(kubeconfig) as client:
        informer = Informer(client, SELECTION, Pod, indexes={OWNER_INDEX: owner})
        with Meter() as meter:
            await _sync(informer)
        return {"cpu": meter.cpu, "megabytes": meter.megabytes, "pods": len(informer.store)}


async def follow_changes(kubeconfig: str, first: str, last: str) -> dict[str, float]:
    """Events of new pods and their reports, in one burst, up to the reconciles that they cause."""
    async with _connected(kubeconfig) as client:
        informer = Informer(client, SELECTION, Pod, indexes={OWNER_INDEX: owner})
        heard = 0

        def count(_old: Pod | None, _new: Pod | None) -> None:
            nonlocal heard
            heard += 1

        async def reconcile(key: Key) -> Result:
            assert len(informer.store.by(OWNER_INDEX, pods.owner_uid(key.name))) <= pods.PODS_PER_SET
            return Result()

        controller = Controller("nodeset", reconcile, _tell)
        controller.watch(informer, controller_of(pods.NODE_SETS))
        informer.subscribe(count)
        await _sync(informer)
        begin, events = heard, 2 * (int(last) - int(first))
        burst = pods.writer(kubeconfig, int(first), int(last))
        assert await (await asyncio.create_subprocess_exec(*burst)).wait() == 0
        with Meter() as meter:
            running = [asyncio.create_task(work) for work in (informer.run(), controller.run())]
            while heard - begin < events or len(controller.queue):  # noqa: ASYNC110
                await asyncio.sleep(0.005)
        for task in running:
            task.cancel()
    return {"rate": events / meter.cpu}


async def _tell(_: Key, error: TerminalError) -> None:
    raise error


@asynccontextmanager
async def _connected(kubeconfig: str) -> AsyncIterator[Client]:
    """A client that has paid for its first connection."""
    async with Client(config.load(Path(kubeconfig))) as client:
        await client.get(NAMESPACES, Key("", pods.NAMESPACE))
        yield client


async def _sync(informer: Informer[Pod]) -> None:
    """Fill the cache and stop there; running it again goes on from there."""
    running = asyncio.create_task(informer.run())
    await informer.synced.wait()
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
