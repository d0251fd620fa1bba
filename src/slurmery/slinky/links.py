"""The ways to Slurm: a poller follows every Controller that has a RestApi; reconciles read what it found."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Final

from slurmery.api.slinky import Controller, RestApi
from slurmery.api.slinky.shared import SecretKeyRef
from slurmery.doors.hearing import SETTLED_SECONDS
from slurmery.doors.views import Custom, read
from slurmery.kube.errors import KubeError
from slurmery.kube.meta import Key
from slurmery.slinky import names
from slurmery.slinky.kinds import CONTROLLERS, NODE_SETS
from slurmery.slinky.restapi.build import endpoint
from slurmery.slinky.world import World
from slurmery.slurm.clusters import Clusters, Endpoint
from slurmery.slurm.errors import TokenError
from slurmery.slurm.model import Node
from slurmery.slurm.snapshot import NEVER, Changes, Part, Snapshot
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
# Of several slurmctld, who is active must be known soon after it changed.
_FAILOVER: Final[Mapping[Part, float]] = {Part.PINGS: 5.0}
_FRESH_SECONDS: Final = 60.0
_RECENT_SECONDS: Final = 15.0

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
        self.pinged: list[Callable[[Key], None]] = []
        """Called with the key of a Controller of which another slurmctld answers now."""
        self._keys: dict[Key, tuple[str | None, float]] = {}
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
        at = Endpoint(self._reach(min(found, key=_preference)), self._wanted(key, controller))
        self.clusters.follow(str(key), at, SignedTokens(lambda: self._signing_key(key)))
        return self.clusters.snapshot(str(key))

    def noticed(self, controller: Key, key_hash: str | None) -> float:
        """When this slurm.key was first seen: what Slurm said before says nothing about jobs under it."""
        known = self._keys.get(controller)
        if known is None or known[0] != key_hash:
            known = self._keys[controller] = key_hash, asyncio.get_running_loop().time()
        return known[1]

    def _wanted(self, key: Key, controller: Controller) -> Mapping[Part, float]:
        intervals = {**self._intervals, **(_FAILOVER if controller.spec.replicas > 1 else {})}
        if not any(reserves(view) for view in self._world.caches.users(NODE_SETS, CONTROLLERS, key)):
            intervals.pop(Part.RESERVATIONS, None)
        return intervals

    def _tell(self, cluster: str, changes: Changes) -> None:
        listeners = {Part.PARTITIONS: [], Part.PINGS: self.pinged}
        for told in listeners.get(changes.part, self.changed):
            told(Key(*cluster.split("/", 1)))

    async def _signing_key(self, key: Key) -> bytes:
        view = self._world.caches.custom[CONTROLLERS].get(key)
        copy = SecretKeyRef(name=names.controller_keys(key.name), key=names.JWT_KEY)
        try:
            ref = read(Controller, view).spec.jwt_key if view else None
            # Our copy is what slurmctld was started with. The Secret may have a newer key, or be gone already
            # where a cluster is taken down whose workers are yet to be drained.
            value = await self._world.secret_value(key.namespace, copy) or (
                await self._world.secret_value(key.namespace, ref)
            )
        except (KubeError, ValueError) as error:
            raise TokenError(f"the key of jwtKeyRef cannot be read: {error}") from None
        if not value:
            raise TokenError("there is no key to sign tokens with")
        return value

    def _forget_deleted(self, old: Custom | None, new: Custom | None) -> None:
        if old and not new:
            self.clusters.drop(str(old.key))
            self._keys.pop(old.key, None)


def _preference(restapi: RestApi) -> tuple[bool, str, str]:
    """The oldest, but one that is about to go only if there is no other."""
    metadata = restapi.metadata
    return metadata.deletion_timestamp is not None, str(metadata.creation_timestamp), metadata.name


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


def answering(snapshot: Snapshot) -> tuple[str, ...]:
    """The slurmctld hosts that just answered, in the order of slurm.conf.

    None of them is as good as unknown: Slurm says the same when only our token is not good.
    """
    now = asyncio.get_running_loop().time()
    if not snapshot.pings.fresh(now, _FRESH_SECONDS):
        return ()
    return tuple(host for host, ping in snapshot.pings.items() if ping.is_up)


def busy(snapshot: Snapshot, since: float = NEVER) -> tuple[str, ...] | None:
    """The nodes that may have a job; None unless Slurm has just told of all, well after `since`."""
    now = asyncio.get_running_loop().time()
    lists = (snapshot.nodes, snapshot.jobs)
    if not all(
        each.fresh(now, _RECENT_SECONDS) and each.taken_at > since + SETTLED_SECONDS for each in lists
    ):
        return None
    return tuple(sorted(name for name, node in snapshot.nodes.items() if _has_jobs(snapshot, node)))


def _has_jobs(snapshot: Snapshot, node: Node) -> bool:
    # Slurm calls a node that is down and forgotten neither busy nor free.
    return bool(snapshot.jobs_on(node.name)) or (node.is_busy and not node.is_down)
