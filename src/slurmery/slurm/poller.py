"""Keeping a snapshot up to date: one task per list, so that a slow one holds up no other.

Slurm is asked only for what changed since its last answer; after a failure, and every `full_every` seconds in
case its clock was set back, for everything. Failures make the pauses longer, `poke` makes them shorter.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Protocol

from slurmery.kube import logs
from slurmery.kube.backoff import Backoff, jittered
from slurmery.slurm.client import Listing
from slurmery.slurm.errors import SlurmError
from slurmery.slurm.model import Job, Node, node_facts
from slurmery.slurm.records import Partition, Ping, Reservation
from slurmery.slurm.snapshot import NEVER, Changes, Part, Snapshot, View, difference

log = logs.logger("slurm")

# Work waits for a Slurm that is back for no longer than this.
_LONGEST_PAUSE: Final = 10.0
_SHORTEST_PAUSE: Final = 0.5


class Lists(Protocol):
    """What a poller needs of the client."""

    async def nodes(self, since: int = 0) -> Listing[Node] | None: ...
    async def jobs(self, since: int = 0) -> Listing[Job] | None: ...
    async def partitions(self, since: int = 0) -> Listing[Partition] | None: ...
    async def reservations(self, since: int = 0) -> Listing[Reservation] | None: ...
    async def pings(self, since: int = 0) -> Listing[Ping] | None: ...


@dataclass(frozen=True)
class _Source:
    fetch: Callable[[int], Awaitable[Listing[Any] | None]]
    key: Callable[[Any], Any]
    facts: Callable[[Any], object]


class Poller:
    """Asks one Slurm cluster at the given intervals for as long as `run` runs."""

    def __init__(
        self,
        client: Lists,
        intervals: Mapping[Part, float],
        changed: Callable[[Changes], None],
        *,
        full_every: float = 60.0,
    ) -> None:
        self._intervals = intervals
        self._changed = changed
        self._full_every = full_every
        self._pokes = {part: asyncio.Event() for part in intervals}
        self._snapshot = Snapshot(asked=frozenset(intervals))
        self._sources = {
            Part.NODES: _Source(client.nodes, lambda node: node.name, node_facts),
            Part.JOBS: _Source(client.jobs, lambda job: job.job_id, _whole),
            Part.PARTITIONS: _Source(client.partitions, lambda partition: partition.name, _whole),
            Part.RESERVATIONS: _Source(client.reservations, lambda reservation: reservation.name, _whole),
            Part.PINGS: _Source(client.pings, lambda ping: ping.hostname, lambda ping: ping.is_up),
        }

    @property
    def snapshot(self) -> Snapshot:
        return self._snapshot

    def poke(self, part: Part) -> None:
        """Ask again soon: something was just written, or somebody waits."""
        self._pokes[part].set()

    async def run(self) -> None:
        async with asyncio.TaskGroup() as group:
            for part, interval in self._intervals.items():
                group.create_task(self._follow(part, interval))

    async def _follow(self, part: Part, interval: float) -> None:
        clock = asyncio.get_running_loop().time
        backoff = Backoff(interval, max(interval, _LONGEST_PAUSE))
        since, full_at = 0, NEVER
        while True:
            started = clock()
            if started - full_at >= self._full_every:
                since = 0
            try:
                listing = await self._sources[part].fetch(since)
            except SlurmError as error:
                self._failed(part, error)
                since = 0
                await self._pause(part, backoff.next())
                continue
            if listing is not None:
                since, full_at = listing.last_update, started
            self._answered(part, listing, started)
            backoff.reset()
            await self._pause(part, interval + jittered(interval * 0.1))

    def _answered(self, part: Part, listing: Listing[Any] | None, started: float) -> None:
        source = self._sources[part]
        old: View[Any, Any] = getattr(self._snapshot, part)
        if listing is None:
            entries, changes = old.entries, Changes(part)
        else:
            entries = {source.key(item): item for item in listing.items}
            changes = difference(part, old.entries, entries, source.facts)
        self._publish(part, View(entries, started))
        if changes.touched or old.error:
            self._changed(changes)
        if old.error and old.taken_at > NEVER:
            log.info("Slurm answers again", list=part)

    def _failed(self, part: Part, error: SlurmError) -> None:
        old: View[Any, Any] = getattr(self._snapshot, part)
        self._publish(part, replace(old, error=str(error)))
        if old.error != str(error):
            self._changed(Changes(part, error=str(error)))
            log.warning("Slurm gives no answer", list=part, error=str(error))

    def _publish(self, part: Part, view: View[Any, Any]) -> None:
        change: dict[str, Any] = {part.value: view}
        self._snapshot = replace(self._snapshot, **change)

    async def _pause(self, part: Part, seconds: float) -> None:
        await asyncio.sleep(min(seconds, _SHORTEST_PAUSE))
        try:
            async with asyncio.timeout(seconds - _SHORTEST_PAUSE):
                await self._pokes[part].wait()
        except TimeoutError:
            pass
        self._pokes[part].clear()


def _whole(item: object) -> object:
    return item
