"""A Slurm that answers what it is told to, as slowly as it is told to."""

import asyncio
from collections.abc import Mapping

from slurmery.slurm.client import Listing
from slurmery.slurm.errors import SlurmError
from slurmery.slurm.model import Job, Node
from slurmery.slurm.records import AccountedJob, Diag, Partition, RpcByType


class Slurm:
    """Answers None to those who know the latest already. `error` and `delay` are by what is asked for."""

    def __init__(self) -> None:
        self.members: tuple[Node, ...] = ()
        self.work: tuple[Job, ...] = ()
        self.shares: tuple[Partition, ...] = ()
        self.statistics = Diag(server_thread_count=3, rpcs_by_message_type=(RpcByType("REQUEST_PING", 1, 1),))
        self.remembered: tuple[AccountedJob, ...] = ()
        self.error: dict[str, SlurmError] = {}
        self.delay: dict[str, float] = {}
        self.asked: list[tuple[str, int]] = []
        self.queries: list[Mapping[str, str]] = []
        self.time = 1

    def change(self, *, members: tuple[Node, ...] | None = None, work: tuple[Job, ...] | None = None) -> None:
        self.time += 1
        self.members = self.members if members is None else members
        self.work = self.work if work is None else work

    async def nodes(self, since: int = 0) -> Listing[Node] | None:
        members, time = self.members, self.time
        await self._answer("nodes", since)
        return None if since == time else Listing(members, time)

    async def jobs(self, since: int = 0) -> Listing[Job] | None:
        work, time = self.work, self.time
        await self._answer("jobs", since)
        return None if since == time else Listing(work, time)

    async def partitions(self, since: int = 0) -> Listing[Partition] | None:
        await self._answer("partitions", since)
        return None if since == self.time else Listing(self.shares, self.time)

    async def diag(self) -> Diag:
        await self._answer("diag", 0)
        return self.statistics

    async def accounted_jobs(self, query: Mapping[str, str] | None = None) -> tuple[AccountedJob, ...]:
        self.queries.append(query or {})
        await self._answer("accounting", 0)
        return self.remembered

    async def _answer(self, what: str, since: int) -> None:
        self.asked.append((what, since))
        error = self.error.get(what)
        await asyncio.sleep(self.delay.get(what, 0))
        if error is not None:
            raise error
