"""Jobs as text, one by one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from slurmery.exporter.nodes import nodeset
from slurmery.exporter.page import Block
from slurmery.exporter.scope import Scope
from slurmery.exporter.text import Family, Labels, Text, sample, slices
from slurmery.slurm.errors import GarbledError
from slurmery.slurm.model import Job
from slurmery.slurmconf.tres import Tres, TresError, gpus, parse

INFO: Final = Family("slurm_job_info", "gauge", "A job of Slurm and its state.")
ON_NODE: Final = Family("slurm_node_job", "gauge", "A node that the job has or had.")
DURATION: Final = Family("slurm_job_duration_seconds", "gauge", "How long the job has run, or ran.")
CPUS: Final = Family("slurm_job_cpus", "gauge", "CPUs that the job has or asks for.")
MEMORY: Final = Family("slurm_job_memory_bytes", "gauge", "Memory that the job has or asks for.")
OMITTED: Final = Family(
    "slurm_exporter_jobs_omitted", "gauge", "Jobs without series of their own because there are too many."
)

_ID: Final = Labels("job_id")
# Series of a job besides one for each of its nodes.
_SERIES: Final = 4
_MEGABYTE: Final = 1 << 20


def resources(job: Job) -> Tres:
    """What the job has or, while it has nothing, asks for; each amount by itself."""
    has, asks = _tres(job.tres_alloc_str), _tres(job.tres_req_str)
    nodes = has.node or asks.node or job.node_count or 0
    untracked = gpus(job.tres_per_node) * nodes
    return Tres(
        cpu=has.cpu or asks.cpu or job.cpus or 0,
        memory=has.memory or asks.memory or (job.memory_per_node or 0) * _MEGABYTE * nodes,
        node=nodes,
        gres=has.gres or asks.gres or ((("gpu", untracked),) if untracked else ()),
    )


@dataclass(frozen=True)
class Durations:
    """How long jobs have run: lines for those that ended, and labels and start of those that have not."""

    ended: Sequence[str] = ()
    running: Sequence[tuple[str, int]] = ()

    def block(self, now: float) -> Block:
        text = Text(DURATION)
        text.add(self.ended)
        text.add(sample(DURATION.name, label, round(now - start, 3)) for label, start in self.running)
        return text.block()


class JobWriter:
    """Turns jobs into text; `groups` tells the NVLink group of each node, where known."""

    def __init__(self, scope: Scope, groups: Mapping[str, str]) -> None:
        self._scope = scope
        self._groups = groups
        absent = scope.absent_labels
        self._info = Labels(
            *(
                "job_id",
                "job_state",
                "job_state_reason",
                "slurm_partition",
                "job_name",
                "user_name",
                "user_id",
            ),
            *("standard_error", "standard_output", "array_job_id", "array_task_id"),
            *("submit_time", "start_time", "end_time", "finished_time", "user_mail"),
            omitted=absent,
        )
        self._place = Labels("job_id", "node_name", "nvlink_instance_group", "nodeset_name", omitted=absent)

    async def write(self, jobs: Sequence[Job]) -> tuple[list[Block], Durations]:
        """The text, all but how long the jobs have run, which is for whoever shows it to say."""
        kept = _within(jobs, self._scope.max_job_series)
        return await self._blocks(kept, omitted=len(jobs) - len(kept)), await _durations(kept)

    async def _blocks(self, jobs: Sequence[Job], omitted: int) -> list[Block]:
        info, places, cpus, memory, left_out = map(Text, (INFO, ON_NODE, CPUS, MEMORY, OMITTED))
        left_out.add([sample(OMITTED.name, "", omitted)])
        async for part in slices(jobs):
            info.add([sample(INFO.name, self._labels(job), 1) for job in part])
            places.add([line for job in part for line in self._places(job)])
            if self._scope.is_full:
                amounts = [(_ID(str(job.job_id)), resources(job)) for job in part]
                cpus.add([sample(CPUS.name, label, has.cpu) for label, has in amounts if has.cpu])
                memory.add([sample(MEMORY.name, label, has.memory) for label, has in amounts if has.memory])
        return [text.block() for text in (info, places, cpus, memory, left_out)]

    def _labels(self, job: Job) -> str:
        return self._info(
            str(job.job_id),
            job.state,
            job.state_reason,
            job.partition,
            job.name,
            job.user_name or job.group_name,
            str(job.user_id),
            job.standard_error,
            job.standard_output,
            _number(job.array_job_id),
            _number(job.array_task_id),
            _number(job.submit_time),
            _number(job.start_time),
            _number(job.end_time),
            _number(job.end_time) if job.is_finished else "",
            job.mail_user,
        )

    def _places(self, job: Job) -> Iterator[str]:
        for name in _nodes(job):
            labels = self._place(str(job.job_id), name, self._groups.get(name, ""), nodeset(name))
            yield sample(ON_NODE.name, labels, 1)


async def _durations(jobs: Sequence[Job]) -> Durations:
    ended: list[str] = []
    running: list[tuple[str, int]] = []
    async for part in slices(jobs):
        for job in part:
            start, end = job.start_time, job.end_time
            if start is None or job.is_pending:
                continue
            if not job.is_finished:
                running.append((_ID(str(job.job_id)), start))
            elif end is not None:
                ended.append(sample(DURATION.name, _ID(str(job.job_id)), max(end - start, 0)))
    return Durations(ended, running)


def _within(jobs: Sequence[Job], limit: int) -> Sequence[Job]:
    """As many jobs as may have series of their own: those that have not finished first, then the newest."""
    if sum(map(_cost, jobs)) <= limit:
        return jobs
    kept: list[Job] = []
    for job in sorted(jobs, key=lambda job: (job.is_finished, -job.job_id)):
        limit -= _cost(job)
        if limit < 0:
            break
        kept.append(job)
    return kept


def _cost(job: Job) -> int:
    return _SERIES + ((job.node_count or 1) if job.nodes else 0)


def _nodes(job: Job) -> tuple[str, ...]:
    try:
        return job.node_names
    except GarbledError:
        return ()


def _tres(text: str) -> Tres:
    try:
        return parse(text)
    except TresError:
        return Tres()


def _number(value: int | None) -> str:
    return "" if value is None else str(value)
