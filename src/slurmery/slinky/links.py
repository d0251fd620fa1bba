"""The ways to Slurm: a poller follows every Controller that has a RestApi; reconciles read what it found."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Final

from slurmery.api.slinky import Controller, RestApi
from slurmery.doors.views import Custom, read
from slurmery.kube.errors import KubeError
from slurmery.kube.meta import Key
from slurmery.slinky import names
from slurmery.slinky.kinds import CONTROLLERS, NODE_SETS
from slurmery.slinky.restapi.build import endpoint
from slurmery.slinky.world import World
from slurmery.slurm.clusters import Clusters, Endpoint
from slurmery.slurm.errors import TokenError
from slurmery.slurm.snapshot import Changes, Part, Snapshot
from slurmery.slurm.tokens import SignedTokens

Reach = Callable[[RestApi], str]

# Jobs are asked for more often than partitions, so that most of the time theirs is the later answer.
# Reservations are asked for only where a NodeSet has one.
INTERVALS: Final[Mapping[Part, float]] = {
    Part.NODES: 5.0,
    Part.JOBS: 10.0,
    Part.PARTITIONS: 30.0,
    Part.RESERVATIONS: 15.0,
}
_FRESH_SECONDS: Final = 60.0

# To partitions in one of these states no job can be submitted.
_CLOSED: Final = frozenset({"DRAIN", "INACTIVE"})


def in_cluster(restapi: RestApi) -> str:
    """Where slurmrestd is reached from within the Kubernetes cluster."""
    return f"http://{endpoint(restapi)}"


class Links:
    """The clusters that are followed, by the key of their Controller."""

    def __init__(
        self, world: World, reach: Reach = in_cluster, intervals: Mapping[Part, float] = INTERVALS
    ) -> None:
        self.clusters = Clusters(self._tell)
        self.changed: list[Callable[[Key], None]] = []
        """Called with the key of a Controller whose Slurm said something new that NodeSets go by."""
        self._world = world
        self._reach = reach
        self._intervals = intervals
        world.caches.custom[CONTROLLERS].subscribe(self._forget_deleted)

    def follow(self, controller: Controller) -> Snapshot:
        """What Slurm said last; from now on it is asked, if there is a RestApi to ask."""
        key = Key(controller.metadata.namespace, controller.metadata.name)
        found = self._world.users(RestApi, CONTROLLERS, key)
        if not found or controller.spec.jwt_key is None:
            self.clusters.drop(str(key))
            return Snapshot()
        oldest = min(found, key=lambda one: (str(one.metadata.creation_timestamp), one.metadata.name))
        at = Endpoint(self._reach(oldest), self._wanted(key))
        self.clusters.follow(str(key), at, SignedTokens(lambda: self._signing_key(key)))
        return self.clusters.snapshot(str(key))

    def _wanted(self, key: Key) -> Mapping[Part, float]:
        if any(reserves(view) for view in self._world.caches.users(NODE_SETS, CONTROLLERS, key)):
            return self._intervals
        return {part: pause for part, pause in self._intervals.items() if part is not Part.RESERVATIONS}

    def _tell(self, cluster: str, changes: Changes) -> None:
        if changes.part is not Part.PARTITIONS:
            for told in self.changed:
                told(Key(*cluster.split("/", 1)))

    async def _signing_key(self, key: Key) -> bytes:
        view = self._world.caches.custom[CONTROLLERS].get(key)
        try:
            ref = read(Controller, view).spec.jwt_key if view else None
            value = await self._world.secret_value(key.namespace, ref)
        except (KubeError, ValueError) as error:
            raise TokenError(f"the key of jwtKeyRef cannot be read: {error}") from None
        if not value:
            raise TokenError("there is no key to sign tokens with")
        return value

    def _forget_deleted(self, old: Custom | None, new: Custom | None) -> None:
        if old and not new:
            self.clusters.drop(str(old.key))


def reserves(nodeset: Custom) -> bool:
    """Whether a NodeSet wants a reservation, or may have one that is to go."""
    strategy = nodeset.spec.get("updateStrategy") or {}
    held = names.RESERVATION_FINALIZER in (nodeset.metadata.finalizers or ())
    return held or strategy.get("type") == "ScheduledUpdate"


def job_partitions(snapshot: Snapshot) -> frozenset[str] | None:
    """The partitions that a job record names, or might by now; None unless Slurm has just told.

    A partition that Slurm still lets jobs into counts as named. Of one that is closed, it is the jobs that
    were listed after it was seen closed which tell.
    """
    now = asyncio.get_running_loop().time()
    jobs, partitions = snapshot.jobs, snapshot.partitions
    if not jobs.fresh(now, _FRESH_SECONDS) or not partitions.fresh(now, _FRESH_SECONDS):
        return None
    if jobs.taken_at < partitions.taken_at:
        return None
    still_open = {name for name, each in partitions.items() if _CLOSED.isdisjoint(each.raw_partition.state)}
    return frozenset(still_open.union(*(job.partition.split(",") for job in jobs.values())))
