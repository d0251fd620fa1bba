"""Everything Slurmery asks of slurmrestd, for data parsers v0.0.40 to v0.0.45.

Lists take the time of an earlier list and answer None if nothing changed since. Every call has a deadline and
raises only SlurmErrors.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from typing import Final, Generic, TypeVar
from urllib.parse import quote

import msgspec
from msgspec import UNSET

from slurmery.kube import logs
from slurmery.slurm import answers
from slurmery.slurm.errors import (
    GarbledError,
    NotFoundError,
    RejectedError,
    UnexplainedError,
    UnofferedError,
    from_number,
)
from slurmery.slurm.model import Job, Node
from slurmery.slurm.records import AccountedJob, Diag, JobState, Partition, Ping, Reservation
from slurmery.slurm.requests import (
    JobFilter,
    JobRequest,
    NodesUpdate,
    NodeUpdate,
    ReservationRequest,
    Submission,
)
from slurmery.slurm.tokens import TokenSource
from slurmery.slurm.transport import Call, Transport
from slurmery.slurmconf import hostlist

log = logs.logger("slurm")

T = TypeVar("T")
A = TypeVar("A", bound=answers.Answer)

VERSIONS: Final = ("v0.0.45", "v0.0.44", "v0.0.43", "v0.0.42", "v0.0.41", "v0.0.40")
_RESERVES_FROM: Final = "v0.0.43"
_PLACES_FROM: Final = "v0.0.43"
_ALREADY_DONE: Final = 2021
# Nothing changes after this, so the answer is a cheap 304, but slurmctld has counted its allocations anew.
_FAR_FUTURE: Final = {"update_time": "uts2147483647"}


class Listing(msgspec.Struct, Generic[T], frozen=True):
    """A whole list; `last_update` is what to pass as `since` next time."""

    items: tuple[T, ...]
    last_update: int


class SlurmClient:
    """A client of one slurmrestd. It holds no connection, so there is nothing to close.

    `deadline` bounds a small call, `list_deadline` one that may answer megabytes, both with all repeats.
    """

    def __init__(
        self,
        url: str,
        tokens: TokenSource,
        *,
        version: str = "",
        deadline: float = 15.0,
        list_deadline: float = 120.0,
    ) -> None:
        self._transport = Transport(url, tokens)
        self._fixed = version
        self._version = version
        self._discovery = asyncio.Lock()
        self._deadline = deadline
        self._list_deadline = list_deadline

    async def version(self) -> str:
        """The newest data parser that this slurmrestd speaks, or the one that was fixed."""
        async with self._discovery:
            if not self._version:
                self._version = await self._discover()
            return self._version

    async def ping(self) -> tuple[Ping, ...]:
        return _items(await self._read(Call("GET", "ping/", self._deadline, reads=True), answers.PingsAnswer))

    async def pings(self, since: int = 0) -> Listing[Ping]:
        """The same as a list to follow; Slurm cannot say what changed `since`."""
        return Listing(await self.ping(), since)

    async def diag(self) -> Diag:
        answer = await self._read(Call("GET", "diag/", self._deadline, reads=True), answers.DiagAnswer)
        if answer.statistics is UNSET:
            raise GarbledError("slurmrestd's answer holds no statistics")
        return answer.statistics

    async def reconfigure(self) -> None:
        """Make slurmctld read its configuration again."""
        await self._write("GET", "reconfigure/", answers.Answer)

    async def nodes(self, since: int = 0) -> Listing[Node] | None:
        return await self._list("nodes/", answers.NodesAnswer, since)

    async def node(self, name: str) -> Node:
        """Two requests: of one node, slurmctld tells the allocations of when the list was last asked for."""
        path = f"node/{_segment(name)}"
        await self._send(Call("GET", "nodes/", self._deadline, _FAR_FUTURE, reads=True), answers.Answer)
        return await self._one(path, answers.NodesAnswer)

    async def update_node(self, name: str, update: NodeUpdate) -> None:
        """A change of the topology needs Slurm 25.05; older ones would take it and do nothing."""
        version = await self.version()
        if update.topology_str is not UNSET and version < _PLACES_FROM:
            raise UnofferedError(
                f"this slurmrestd ({version}) cannot change a topology: {_PLACES_FROM}, Slurm 25.05, can"
            )
        await self._write("POST", f"node/{_segment(name)}", answers.Answer, update)

    async def update_nodes(self, names: Iterable[str], update: NodeUpdate) -> None:
        """One request for all of them; no names, no request."""
        name = hostlist.compress(names)
        if name:
            body = NodesUpdate(name=(name,), **msgspec.structs.asdict(update))
            await self._write("POST", "nodes/", answers.Answer, body)

    async def delete_node(self, name: str) -> None:
        """Slurm forgets dynamic nodes only."""
        await self._write("DELETE", f"node/{_segment(name)}", answers.Answer)

    async def jobs(self, since: int = 0) -> Listing[Job] | None:
        return await self._list("jobs/", answers.JobsAnswer, since)

    async def job_states(self) -> tuple[JobState, ...]:
        """Ids and states only: a hundredth of the full list."""
        call = Call("GET", "jobs/state/", self._list_deadline, reads=True)
        return _items(await self._read(call, answers.JobStatesAnswer))

    async def job(self, job_id: int) -> Job:
        return await self._one(f"job/{job_id}", answers.JobsAnswer)

    async def submit(self, script: str, job: JobRequest) -> int:
        answer = await self._write("POST", "job/submit", answers.SubmitAnswer, Submission(script, job))
        if answer.job_id is UNSET:
            raise GarbledError("slurmrestd's answer holds no job id")
        return answer.job_id

    async def cancel(self, job_id: int | str, signal: str = "") -> None:
        """Cancel one job or array task (`12_3`). One that has ended already counts as cancelled."""
        problems = await self.cancel_jobs(JobFilter(jobs=(str(job_id),), signal=signal or UNSET))
        if problems:
            raise from_number(problems[0].error.code, f"job {job_id}: {problems[0].error.message}")

    async def cancel_jobs(self, choice: JobFilter) -> tuple[answers.KillStatus, ...]:
        """Cancel what matches, in one request; answers those that could not be."""
        if choice.is_empty:
            raise ValueError("a filter without conditions would cancel every job")
        answer = await self._write("DELETE", "jobs/", answers.KillAnswer, choice)
        return tuple(item for item in answer.status if item.error.code not in {0, _ALREADY_DONE})

    async def partitions(self, since: int = 0) -> Listing[Partition] | None:
        return await self._list("partitions/", answers.PartitionsAnswer, since)

    async def reservations(self, since: int = 0) -> Listing[Reservation] | None:
        return await self._list("reservations/", answers.ReservationsAnswer, since)

    async def reservation(self, name: str) -> Reservation:
        return await self._one(f"reservation/{_segment(name)}", answers.ReservationsAnswer)

    async def can_reserve(self) -> None:
        """Whether it can make reservations, which needs Slurm 25.05. Raises UnofferedError."""
        version = await self.version()
        if version < _RESERVES_FROM:
            raise UnofferedError(
                f"this slurmrestd ({version}) cannot make reservations: {_RESERVES_FROM}, Slurm 25.05, can"
            )

    async def reserve(self, reservation: ReservationRequest) -> None:
        """Make the reservation, or change the one of that name."""
        await self.can_reserve()
        await self._write("POST", "reservation", answers.Answer, reservation)

    async def delete_reservation(self, name: str) -> None:
        await self._write("DELETE", f"reservation/{_segment(name)}", answers.Answer)

    async def accounted_jobs(self, query: Mapping[str, str] | None = None) -> tuple[AccountedJob, ...]:
        """What slurmdbd remembers; `query` holds slurmrestd's own filters, such as users or start_time."""
        call = Call("GET", "jobs/", self._list_deadline, query or {}, reads=True, api="slurmdb")
        return _items(await self._read(call, answers.AccountedJobsAnswer))

    async def _list(self, path: str, kind: type[answers.ListAnswer[T]], since: int) -> Listing[T] | None:
        # `uts`: data parsers before v0.0.42 do not take a bare number for a time.
        query = {"update_time": f"uts{since}"} if since else {}
        try:
            answer = await self._send(Call("GET", path, self._list_deadline, query, reads=True), kind)
        except RejectedError:
            # 24.11 fails to list what changed among the nodes as long as the partitions have not changed too.
            if not since:
                raise
            return await self._list(path, kind, 0)
        # Nodes and the like answer 304; jobs answer an empty list of the year 1970, and a warning.
        if answer is None or (since and answer.items == () and answer.warnings and not answer.last_update):
            return None
        return Listing(_items(answer), answer.last_update)

    async def _one(self, path: str, kind: type[answers.ListAnswer[T]]) -> T:
        try:
            items = _items(await self._read(Call("GET", path, self._deadline, reads=True), kind))
        except UnexplainedError as error:
            raise NotFoundError(error.text) from None
        if len(items) != 1:
            raise GarbledError(f"slurmrestd answered {len(items)} records where one was asked for")
        return items[0]

    async def _read(self, call: Call, kind: type[A]) -> A:
        answer = await self._send(call, kind)
        if answer is None:
            raise GarbledError("slurmrestd answered 304 to a request that did not ask for changes")
        return answer

    async def _write(self, method: str, path: str, kind: type[A], body: msgspec.Struct | None = None) -> A:
        content = b"" if body is None else msgspec.json.encode(body)
        answer = await self._read(Call(method, path, self._deadline, body=content), kind)
        for warning in answer.warnings:  # Slurm ignores fields that it does not know
            log.debug("Slurm warned", call=f"{method} {path}", warning=warning.description)
        return answer

    async def _send(self, call: Call, kind: type[A]) -> A | None:
        try:
            return await self._transport.send(call, await self.version(), kind)
        except UnofferedError:
            self._version = self._fixed  # perhaps Slurm was upgraded under us: look again next time
            raise

    async def _discover(self) -> str:
        for version in VERSIONS:
            call = Call("GET", "ping/", self._deadline, reads=True)
            try:
                await self._transport.send(call, version, answers.PingsAnswer)
            except UnofferedError:
                continue
            return version
        raise UnofferedError(f"slurmrestd speaks none of {VERSIONS[-1]} to {VERSIONS[0]}")


def _items(answer: answers.ListAnswer[T]) -> tuple[T, ...]:
    if answer.items is UNSET:
        raise GarbledError("slurmrestd's answer holds no list")
    return answer.items


def _segment(name: str) -> str:
    """A name as one segment of a path; dots alone would climb out of it."""
    if not name.strip("."):
        raise NotFoundError(f"Slurm has nothing by the name {name!r}")
    return quote(name, safe="")
