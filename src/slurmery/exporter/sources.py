"""Where text comes from: each source asks Slurm for one thing and renders the answer.

`fetch` may be slow and may fail, and changes nothing; `render` takes an answer in. A collector calls the
latter for answers in the order of their requests, one at a time.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Final, Generic, Protocol, TypeVar

from slurmery.exporter import accounting, demand, nodes, partitions, statistics
from slurmery.exporter.demand import Tallies
from slurmery.exporter.jobs import Durations, JobWriter
from slurmery.exporter.nodes import NodeLabels
from slurmery.exporter.outages import Outages
from slurmery.exporter.page import Block
from slurmery.exporter.scope import Scope
from slurmery.slurm.client import Listing
from slurmery.slurm.model import Job, Node
from slurmery.slurm.records import AccountedJob, Diag, Partition

T = TypeVar("T")
Clock = Callable[[], float]
AskJobs = Callable[[int], Awaitable[Listing[Job] | None]]

# How often everything is asked for, whatever Slurm says has changed: its clock may have been set back.
_FULL_EVERY: Final = 300.0


class Source(Protocol[T]):
    """One thing to ask Slurm for."""

    async def fetch(self) -> T:
        """Ask. Raises SlurmError."""
        ...

    async def render(self, answer: T) -> Sequence[Block]:
        """The text as of this answer."""
        ...


class Slurm(Protocol):
    """What the sources need of the client."""

    async def nodes(self, since: int = 0) -> Listing[Node] | None: ...
    async def jobs(self, since: int = 0) -> Listing[Job] | None: ...
    async def partitions(self, since: int = 0) -> Listing[Partition] | None: ...
    async def diag(self) -> Diag: ...
    async def accounted_jobs(self, query: Mapping[str, str] | None = None) -> tuple[AccountedJob, ...]: ...


class _Changes(Generic[T]):
    """A list of which Slurm is asked only for changes, but now and then for all of it."""

    def __init__(self, ask: Callable[[int], Awaitable[Listing[T] | None]]) -> None:
        self._ask = ask
        self._since = 0
        self._full_at = 0.0

    async def fetch(self) -> Listing[T] | None:
        due = asyncio.get_running_loop().time() - self._full_at >= _FULL_EVERY
        return await self._ask(0 if due else self._since)

    def taken(self, listing: Listing[T]) -> None:
        self._since = listing.last_update
        self._full_at = asyncio.get_running_loop().time()


class NodeSource:
    """The nodes and what became of them. `groups` gets the NVLink group of each, for those who show jobs."""

    def __init__(self, slurm: Slurm, scope: Scope, groups: dict[str, str], clock: Clock = time.time) -> None:
        self._changes = _Changes(slurm.nodes)
        self._scope = scope
        self._groups = groups
        self._clock = clock
        self._labels = NodeLabels(scope)
        self._outages = Outages(self._labels.state, nodes.gpus, reasons="reason" not in scope.absent_labels)
        self._steady: list[Block] = []
        self._counted_at = asyncio.get_running_loop().time()

    async def fetch(self) -> Listing[Node] | None:
        return await self._changes.fetch()

    async def render(self, answer: Listing[Node] | None) -> Sequence[Block]:
        if answer is not None:
            await self._outages.update(answer.items, self._clock())
            self._groups.clear()
            self._groups.update((node.name, nodes.nvlink_group(node)) for node in answer.items)
            self._steady = [
                *await nodes.present(answer.items, self._labels, self._scope),
                *await nodes.past(self._outages),
            ]
            self._changes.taken(answer)
        now = asyncio.get_running_loop().time()
        self._outages.elapse(now - self._counted_at)
        self._counted_at = now
        return [*self._steady, await nodes.seconds(self._outages)]


class JobSource:
    """Jobs, one by one and in sums. `partitions` names those that are shown even without jobs."""

    def __init__(
        self,
        ask: AskJobs,
        scope: Scope,
        groups: Mapping[str, str],
        partitions: Sequence[str],
        clock: Clock = time.time,
    ) -> None:
        self._changes = _Changes(ask)
        self._partitions = partitions
        self._clock = clock
        self._writer = JobWriter(scope, groups) if scope.jobs else None
        self._sums: Tallies = {}
        self._steady: list[Block] = []
        self._durations = Durations()

    async def fetch(self) -> Listing[Job] | None:
        return await self._changes.fetch()

    async def render(self, answer: Listing[Job] | None) -> Sequence[Block]:
        if answer is not None:
            self._sums = await demand.tallies(answer.items)
            if self._writer:
                self._steady, self._durations = await self._writer.write(answer.items)
            self._changes.taken(answer)
        sums = demand.blocks(self._sums, self._partitions)
        return [*self._steady, *sums, self._durations.block(self._clock())]


def accounted(slurm: Slurm, lookback: float, clock: Clock = time.time) -> AskJobs:
    """What to ask for jobs that accounting remembers, instead of those that slurmctld knows."""

    async def ask(_: int) -> Listing[Job]:
        records = await slurm.accounted_jobs(accounting.query(clock(), lookback))
        # A job that was started again may be there once for each start, in that order.
        latest = {record.job_id: accounting.job(record) for record in records}
        return Listing(tuple(latest.values()), 0)

    return ask


class PartitionSource:
    """The partitions; `names` is kept up to date for those who count per partition."""

    def __init__(self, slurm: Slurm, names: list[str]) -> None:
        self._changes = _Changes(slurm.partitions)
        self._names = names
        self._blocks: list[Block] = []

    async def fetch(self) -> Listing[Partition] | None:
        return await self._changes.fetch()

    async def render(self, answer: Listing[Partition] | None) -> Sequence[Block]:
        if answer is not None:
            self._names[:] = [partition.name for partition in answer.items]
            self._blocks = partitions.blocks(answer.items)
            self._changes.taken(answer)
        return self._blocks


class DiagSource:
    """slurmctld's statistics."""

    def __init__(self, slurm: Slurm) -> None:
        self._slurm = slurm

    async def fetch(self) -> Diag:
        return await self._slurm.diag()

    async def render(self, answer: Diag) -> Sequence[Block]:
        return statistics.blocks(answer)
