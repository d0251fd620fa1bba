"""Lets pods and claims belong where they should: what `kinship` and `bonds` ask for, carried out."""

from collections.abc import Mapping, Sequence

from slurmery.api.slinky import NodeSet
from slurmery.doors.concurrency import concurrently, tolerantly
from slurmery.doors.conditions import Problem
from slurmery.doors.views import Custom
from slurmery.kube.client import Client
from slurmery.kube.meta import Key, Manifest, Resource
from slurmery.kube.resources import PERSISTENT_VOLUME_CLAIMS, PODS
from slurmery.slinky.caches import Caches
from slurmery.slinky.kinds import NODE_SETS
from slurmery.slinky.nodeset import bonds, kinship
from slurmery.slinky.nodeset.act import Outcome
from slurmery.slinky.nodeset.fleet import Fleet
from slurmery.slinky.nodeset.gather import Gathered


class Belongings:
    """What belongs to NodeSets."""

    def __init__(self, client: Client, fleet: Fleet, caches: Caches) -> None:
        self._client = client
        self._fleet = fleet
        self._caches = caches

    async def claim_pods(self, view: Custom, nodeset: NodeSet, seen: Gathered) -> bool:
        """Adopt and release pods; whether any was, so that the cache is to be waited for."""
        orphans = self._fleet.orphans(view.key)
        patches = kinship.changes(nodeset, seen.pods.values(), orphans, seen.anchor)
        if any(pod.key in patches for pod in orphans):
            # Not by what the cache says: a NodeSet that is on its way out must not take them along.
            live = await self._client.get(NODE_SETS, view.key, as_=Custom)
            if live.deleting or live.metadata.uid != view.metadata.uid:
                return True
        return len(await self._patch(PODS, patches)) < len(patches)

    async def bind_volumes(self, view: Custom, nodeset: NodeSet) -> Sequence[Problem]:
        """Let claims belong to the NodeSet, or to nobody; the answer is what stands in the way."""
        claims = self._caches.claims_of(view.key)
        problems = await self._patch(PERSISTENT_VOLUME_CLAIMS, bonds.changes(nodeset, claims))
        return [*problems, *bonds.contested(nodeset, claims)]

    async def _patch(self, resource: Resource, patches: Mapping[Key, Manifest]) -> Sequence[Problem]:
        outcome = Outcome()

        async def write(key: Key) -> None:
            await self._client.patch(resource, key, patches[key], kind="strategic")

        await concurrently(patches, tolerantly(write, "FailedUpdate", outcome.problems))
        return outcome.problems
