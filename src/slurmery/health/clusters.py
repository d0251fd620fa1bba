"""The Slurm clusters of both front doors, each followed by one poller that serves all health checks.

SlurmCluster ────────────┐                  ┌─► what Slurm says of a node, and how sure that is
Controller and RestApi ──┴─► poller ────────┤
                                            └─► who wants to know that something changed
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Final

from slurmery.doors.cache import Cache
from slurmery.doors.conditions import Problem
from slurmery.doors.hearing import FRESH_SECONDS, Slurm
from slurmery.doors.views import Custom
from slurmery.doors.words import Told
from slurmery.health.ref import Ref
from slurmery.health.ways import Ways
from slurmery.health.words import Word, tell
from slurmery.kube.controller import Controller, Result, not_only_status, unreported
from slurmery.kube.events import Regarding
from slurmery.kube.meta import Key, Resource, Selection
from slurmery.kube.runtime import Runtime
from slurmery.nebius.kinds import SLURM_CLUSTERS
from slurmery.slinky.kinds import CONTROLLERS, REST_APIS
from slurmery.slinky.references import USES, uses
from slurmery.slurm.client import SlurmClient
from slurmery.slurm.clusters import Clusters, Endpoint
from slurmery.slurm.snapshot import NEVER, Changes, Part, Snapshot

INTERVALS: Final[Mapping[Part, float]] = {Part.NODES: 5.0, Part.JOBS: 10.0}


# How an address within the Kubernetes cluster is reached from here.
Reach = Callable[[str], str]


def within(url: str) -> str:
    """From within, as it is."""
    return url


class Slurms:
    """All of them. `changed` are called with whatever Slurm says anew."""

    def __init__(
        self,
        runtime: Runtime,
        namespaces: Sequence[str] = (),
        *,
        reach: Reach = within,
        intervals: Mapping[Part, float] = INTERVALS,
    ) -> None:
        self.changed: list[Callable[[Ref, Changes], None]] = []
        self._runtime = runtime
        self._intervals = intervals
        self._clusters = Clusters(self._hear)
        self._refs: dict[str, Ref] = {}
        self._told: dict[Ref, Told] = {}
        # When each node was first listed as drained: a drain of anybody's takes as long to settle as ours.
        self._drains: dict[Ref, dict[str, float]] = {}
        self._caches = {
            resource: Cache(
                [
                    runtime.informer(Selection(resource, namespace), Custom, {USES: uses})
                    for namespace in namespaces or (None,)
                ]
            )
            for resource in (SLURM_CLUSTERS, CONTROLLERS, REST_APIS)
        }
        self._ways = Ways(runtime.client, self._caches)
        self._reach = reach

    def wire(self) -> None:
        """Follow them, while leading."""
        for resource, name in ((SLURM_CLUSTERS, "slurmapiclients"), (CONTROLLERS, "slinkyapiclients")):
            controller = Controller(name, partial(self._follow, resource), unreported)
            self._caches[resource].wakes(controller, relevant=not_only_status)
            if resource == CONTROLLERS:
                self._caches[REST_APIS].wakes(controller, _of_restapi, relevant=not_only_status)
            self._runtime.add(controller)

    async def close(self) -> None:
        """Follow none any more."""
        await self._clusters.close()

    def all(self) -> tuple[Ref, ...]:
        """Those that are followed."""
        return tuple(self._refs.values())

    def blind(self) -> Ref | None:
        """One of those that ought to be followed and have not told of their nodes since we started."""
        for resource in (SLURM_CLUSTERS, CONTROLLERS):
            for informer in self._caches[resource].informers:
                for view in informer.store.all():
                    ref = Ref(resource, view.key)
                    if self.snapshot(ref).nodes.taken_at == NEVER and self._ways.service(ref):
                        return ref
        return None

    def client(self, ref: Ref) -> SlurmClient | None:
        """Who speaks to it; None if nobody can."""
        return self._clusters.client(str(ref))

    def snapshot(self, ref: Ref) -> Snapshot:
        """What it said last."""
        return self._clusters.snapshot(str(ref))

    def known(self, ref: Ref) -> bool:
        """Whether it told of its nodes and jobs a moment ago."""
        now, snapshot = asyncio.get_running_loop().time(), self.snapshot(ref)
        return all(each.fresh(now, FRESH_SECONDS) for each in (snapshot.nodes, snapshot.jobs))

    def unheard(self, ref: Ref, name: str) -> bool:
        """Whether its answer to what we last said of this node is on its way; a silent one gives none."""
        return self.known(ref) and self.snapshot(ref).nodes.taken_at <= self._spoken(ref, name)

    def about(self, ref: Ref, name: str) -> Slurm:
        """Its word about one node, fresh only where nothing can be on its way any more."""
        since = max(self._spoken(ref, name), self._drains.get(ref, {}).get(name, NEVER))
        return Slurm(self.snapshot(ref), {name: since}, asyncio.get_running_loop().time())

    async def tell(self, ref: Ref, words: Iterable[Word]) -> list[Problem]:
        """Say something about nodes, and ask how they are after it."""
        client = self.client(ref)
        if client is None:
            return [Problem("SlurmUpdateFailed", f"There is no way to the Slurm of {ref}.")]
        problems = await tell(client, self._told.setdefault(ref, Told()), words)
        for part in self._intervals:
            self._clusters.poke(str(ref), part)
        return problems

    def regarding(self, ref: Ref) -> Regarding | None:
        """What Events about the cluster are attached to."""
        view = self._caches[ref.resource].get(ref.key)
        return Regarding(ref.resource, ref.key, view.metadata.uid) if view else None

    def _spoken(self, ref: Ref, name: str) -> float:
        told = self._told.get(ref)
        return told.times().get(name, NEVER) if told else NEVER

    def _hear(self, cluster: str, changes: Changes) -> None:
        ref = self._refs.get(cluster)
        if ref is None:
            return
        if changes.part is Part.NODES:
            nodes, drains = self.snapshot(ref).nodes, self._drains.setdefault(ref, {})
            for name in map(str, changes.touched):
                if name in nodes and nodes[name].has_drain:
                    drains.setdefault(name, nodes.taken_at)
                else:
                    drains.pop(name, None)
        for told in self.changed:
            told(ref, changes)

    async def _follow(self, resource: Resource, key: Key) -> Result:
        ref = Ref(resource, key)
        url = self._ways.service(ref)
        if url is None:
            self._clusters.drop(str(ref))
            for memory in (self._told, self._drains):
                memory.pop(ref, None)
            self._refs.pop(str(ref), None)
        else:
            self._refs[str(ref)] = ref
            self._clusters.follow(
                str(ref), Endpoint(self._reach(url), self._intervals), self._ways.tokens(ref)
            )
        return Result()


def _of_restapi(view: Custom) -> Iterable[Key]:
    return [key for used, key in uses(view) if used == CONTROLLERS]
