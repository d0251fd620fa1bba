"""What partitions, accounts and users have and wait for: figures for autoscalers and for bills.

A job array waits as one record that stands for many tasks; here each task counts, as far as the array lets
its tasks run at once. Jobs that would not start even on an empty cluster (held, waiting for another job or
for a time) count as pending but ask for nothing, so that nobody powers up nodes for them.

Since Slurm 25.11 slurmctld has metrics of its own; what is there too goes by the same names and labels here.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from slurmery.exporter.jobs import resources
from slurmery.exporter.page import Block
from slurmery.exporter.text import Family, Labels, Text, sample, slices
from slurmery.slurm.model import Job

RUNNING: Final = Family("slurm_jobs_running", "gauge", "Jobs that run.")
PENDING: Final = Family("slurm_jobs_pending", "gauge", "Jobs and tasks of job arrays that wait.")

_HELD: Final = frozenset({"JobHeldUser", "JobHeldAdmin"})
# Other reasons to wait that have nothing to do with room.
_UNREADY: Final = frozenset({
    "Dependency", "DependencyNeverSatisfied", "BeginTime", "JobArrayTaskLimit",
    "PartitionDown", "PartitionInactive", "InvalidAccount", "InvalidQOS", "BadConstraints", "DeadLine",
})  # fmt: skip
# Limits of accounts and QOS: AssocGrpGRES, QOSMaxJobsPerUserLimit, ...
_LIMITS: Final = ("Assoc", "QOS")
_RANGE: Final = re.compile(r"([0-9]{1,9})(?:-([0-9]{1,9}))?(?::([1-9][0-9]{0,8}))?")

_MEANINGS: Final = {
    "jobs_running": "Jobs that run",
    "jobs_pending": "Jobs and tasks of job arrays that wait",
    "jobs_hold": "Jobs and tasks of job arrays that are held",
    "jobs_gpus_alloc": "GPUs that jobs have",
    "jobs_cpus_alloc": "CPUs that jobs have",
    "pending_nodes": "Nodes that waiting jobs ask for, if they could start",
    "pending_gpus": "GPUs that waiting jobs ask for, if they could start",
    "pending_cpus": "CPUs that waiting jobs ask for, if they could start",
}


class Tally(NamedTuple):
    """The sums of one partition, account or user."""

    jobs_running: int = 0
    jobs_pending: int = 0
    jobs_hold: int = 0
    jobs_gpus_alloc: int = 0
    jobs_cpus_alloc: int = 0
    pending_nodes: int = 0
    pending_gpus: int = 0
    pending_cpus: int = 0

    def plus(self, other: Tally, times: int) -> Tally:
        return Tally(*(mine + its * times for mine, its in zip(self, other, strict=True)))


_NOTHING: Final = Tally()


class _Group(NamedTuple):
    partition: str
    account: str
    user: str


Tallies = Mapping[str, Mapping[str, Tally]]


async def tallies(jobs: Sequence[Job]) -> Tallies:
    """Sums by partition, account and user; those of all jobs under the empty word."""
    alike: Counter[tuple[_Group, Tally]] = Counter()
    async for part in slices(jobs):
        for job in part:
            group = _Group(job.partition, job.account, job.user_name or job.group_name)
            alike[group, _tally(job)] += 1
    found: dict[str, dict[str, Tally]] = {word: {} for word in ("", *_Group._fields)}
    for (group, tally), times in alike.items():
        for word, name in (("", ""), *_names(group)):
            found[word][name] = found[word].get(name, _NOTHING).plus(tally, times)
    return found


def blocks(sums: Tallies, partitions: Iterable[str]) -> list[Block]:
    """The sums as text; a partition without jobs is there as well, because zero is what brings nodes down."""
    everything = sums[""].get("", _NOTHING)
    found = [
        _block(RUNNING, [("", everything.jobs_running)]),
        _block(PENDING, [("", everything.jobs_pending)]),
    ]
    for by in _Group._fields:
        label = Labels("username" if by == "user" else by)
        members = dict.fromkeys(partitions, _NOTHING) if by == "partition" else {}
        rows = [(label(name), tally) for name, tally in sorted({**members, **sums[by]}.items())]
        for index, (word, meaning) in enumerate(_MEANINGS.items()):
            family = Family(f"slurm_{by}_{word}", "gauge", f"{meaning}, by {by}.")
            found.append(_block(family, [(labels, tally[index]) for labels, tally in rows]))
    return found


def tasks(text: str) -> tuple[int, int]:
    """How many tasks `1-9:2,20%4` stands for, and how many of them may run at once."""
    ranges, _, limit = text.partition("%")
    count = 0
    for match in filter(None, map(_RANGE.fullmatch, ranges.split(","))):
        first, last, step = int(match[1]), int(match[2] or match[1]), int(match[3] or 1)
        count += max((last - first) // step + 1, 0)
    return count, min(int(limit), count) if limit.isdecimal() else count


def _tally(job: Job) -> Tally:
    if job.is_pending:
        waiting, at_once = tasks(job.array_task_string) if job.array_task_string else (1, 1)
        if job.hold or job.state_reason in _HELD:
            return Tally(jobs_pending=waiting, jobs_hold=waiting)
        if job.state_reason in _UNREADY or job.state_reason.startswith(_LIMITS):
            return Tally(jobs_pending=waiting)
        asks = resources(job)
        return Tally(
            jobs_pending=waiting,
            pending_nodes=max(asks.node, 1) * at_once,
            pending_gpus=asks.gpus * at_once,
            pending_cpus=asks.cpu * at_once,
        )
    if job.holds_nodes:
        has = resources(job)
        return Tally(jobs_running=int(job.is_running), jobs_gpus_alloc=has.gpus, jobs_cpus_alloc=has.cpu)
    return Tally(jobs_running=int(job.is_running))


def _names(group: _Group) -> Iterator[tuple[str, str]]:
    # A job may wait for several partitions at once.
    for word, names in zip(
        group._fields, (group.partition.split(","), [group.account], [group.user]), strict=True
    ):
        yield from ((word, name) for name in names if name)


def _block(family: Family, values: Iterable[tuple[str, int]]) -> Block:
    text = Text(family)
    text.add(sample(family.name, labels, value) for labels, value in values)
    return text.block()
