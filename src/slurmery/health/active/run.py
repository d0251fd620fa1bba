"""One run of a check in Slurm: when it begins, which nodes it is for, how it ended. Pure.

    due, room ─► InProgress is written ─► jobs are submitted ─► their ids are written ─► all have ended

Each job carries the mark of its run, so that whoever goes on after a crash finds what was submitted.
"""

import hashlib
from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, Final

from slurmery.api.nebius.activecheck import ActiveCheckSpec
from slurmery.health.active.reactions import quarantine
from slurmery.health.active.schedule import Schedule
from slurmery.slurm.model import Job, Node

_UNFIT: Final = frozenset({
    "DOWN", "ERROR", "DRAIN", "RESERVED", "INVALID_REG", "NOT_RESPONDING", "POWER_DOWN", "POWERING_DOWN",
    "POWERED_DOWN", "REBOOT_ISSUED", "REBOOT_REQUESTED",
})  # fmt: skip
# What ends a job by itself, whatever the check found out: its node did not do what a healthy one does.
_FAILED: Final = frozenset({"FAILED", "TIMEOUT", "NODE_FAIL", "OUT_OF_MEMORY", "BOOT_FAIL"})
_PASSED: Final = "COMPLETED"
_CANCELLED: Final = frozenset({"CANCELLED", "PREEMPTED", "REVOKED"})
_RESERVED: Final = frozenset({"RESERVED"})
_FORGOTTEN_SECONDS: Final = 120.0
NO_JOB: Final = "No slurm job"


class State(StrEnum):
    """How a run stands, in the words of 5.0."""

    IN_PROGRESS = "InProgress"
    COMPLETE = "Complete"
    FAILED = "Failed"
    CANCELLED = "Cancelled"
    ERROR = "Error"
    SKIPPED = "Skipped"


@dataclass(frozen=True)
class Run:
    """The latest run as the status tells it; `begun` is None before the first."""

    begun: datetime | None = None
    state: str = ""
    ids: tuple[int, ...] = ()
    failed: tuple[str, ...] = ()

    @property
    def under_way(self) -> bool:
        return self.state == State.IN_PROGRESS

    def mark(self, check: str) -> str:
        """What the run's jobs have as their comment."""
        return f"activecheck {check} {self.begun.isoformat() if self.begun else ''}"


@dataclass(frozen=True)
class Ended:
    """Jobs of a run by how they ended; each with a reason. `open` is how many have not."""

    passed: tuple[Job, ...] = ()
    failed: tuple[tuple[Job, str], ...] = ()
    errors: tuple[tuple[str, str], ...] = ()
    cancelled: tuple[str, ...] = ()
    open: int = 0
    skipped: bool = False

    @property
    def state(self) -> State:
        if self.skipped:
            return State.SKIPPED
        if self.open:
            return State.IN_PROGRESS
        if self.failed:
            return State.FAILED
        if self.errors:
            return State.ERROR
        return State.CANCELLED if self.cancelled else State.COMPLETE

    @property
    def state_1_22(self) -> str:
        """The same in the words of 1.22, where all jobs failed or only some."""
        if self.open or not (self.failed or self.errors or self.cancelled):
            return "InProgress" if self.open else "Complete"
        return "Degraded" if self.passed else "Failed"


def due(spec: ActiveCheckSpec, times: Schedule, run: Run, created: datetime, uid: str) -> datetime | None:
    """When the next run may begin; None if it never will. A run that was missed is made up for once.

    Checks that share a time begin within a minute of each other, each always at the same second.
    """
    if run.begun is None and spec.run_after_creation:
        return created
    following = None if spec.suspend else times.after((run.begun or created).astimezone(UTC))
    if following is None:
        return None
    second = int.from_bytes(hashlib.blake2b(uid.encode(), digest_size=2).digest()) % 60
    return following.replace(second=second)


def has_gpus(node: Node) -> bool:
    return "gpu" in node.gres


def held(spec: ActiveCheckSpec, node: str, reservations: Set[str]) -> str:
    """Which of Slurm's reservations keeps a node for checks like this one; "" if none does."""
    return min(quarantine(spec, node) & reservations, default="")


def _fit(node: Node, held_by_us: str) -> bool:
    return _UNFIT.isdisjoint({*node.state} - (_RESERVED if held_by_us else set()))


def targets(
    spec: ActiveCheckSpec, nodes: Iterable[Node], jobs: Sequence[Job], mark: str, reservations: Set[str]
) -> tuple[str, ...]:
    """The nodes that have yet to get their job in the run of this mark; "" is wherever Slurm likes."""
    given = spec.slurm_job_spec
    if given is None:
        return ()
    if not (given.each_worker_jobs or given.each_worker_job_array):
        return () if jobs else ("",)
    taken = {job.required_nodes for job in jobs}
    free = [node for node in nodes if node.name not in taken]
    fit = [node.name for node in free if _fit(node, held(spec, node.name, reservations))]
    # Other ones in each run, yet the same ones for whoever goes on with it.
    shuffled = sorted(fit, key=lambda name: hashlib.blake2b(f"{mark} {name}".encode()).digest())
    room = given.max_number_of_jobs - len(jobs) if given.max_number_of_jobs else len(shuffled)
    return tuple(shuffled[: max(0, room)])


def ended(run: Run, jobs: Iterable[Job], now: datetime) -> Ended:
    """How the run's jobs ended, each task of an array for itself; a job that Slurm forgot could not check."""
    ids = set(run.ids)
    ours = [job for job in jobs if (job.array_job_id or job.job_id) in ids]
    over = [job for job in ours if job.is_finished]
    failed = [job for job in over if job.state in _FAILED]
    cancelled = [job for job in over if job.state in _CANCELLED]
    others = [job for job in over if job.state not in {_PASSED, *_FAILED, *_CANCELLED}]
    unknown = sorted(ids - {job.array_job_id or job.job_id for job in ours})
    old = run.begun is None or (now - run.begun).total_seconds() > _FORGOTTEN_SECONDS
    forgotten = [(str(number), "Slurm does not know the job any more.") for number in unknown] if old else []
    return Ended(
        tuple(job for job in over if job.state == _PASSED),
        tuple((job, f"{job.state} {job.state_reason}".strip()) for job in failed),
        (*((str(job.job_id), job.state) for job in others), *forgotten),
        tuple(str(job.job_id) for job in cancelled),
        open=len(ours) - len(over) + (0 if old else len(unknown)),
    )


def run_of(status: dict[str, Any]) -> Run:
    """The run that a status tells of."""
    begun = status.get("lastRunSubmitTime") or status.get("lastJobSubmitTime")
    told = status.get("lastRunId") or status.get("lastJobId") or ""
    return Run(
        begun=datetime.fromisoformat(begun) if begun else None,
        state=status.get("lastRunStatus") or status.get("lastJobState") or "",
        ids=tuple(int(part) for part in told.split(",") if part.strip().isdigit()),
        failed=tuple(each["jobID"] for each in status.get("lastRunFailJobsAndReasons") or ()),
    )


def begun(now: datetime, name: str) -> dict[str, Any]:
    """The status of a run that is about to be submitted."""
    # None takes away what the run before has left.
    return {**_fields(stamp(now), name, "", Ended(open=1), stamp(now)), "lastJobEndTime": None}


def submitted(status: dict[str, Any], ids: Iterable[int]) -> dict[str, Any]:
    """The status once all jobs have their ids."""
    told = ",".join(map(str, sorted(ids)))
    return {**status, "lastRunId": told, "lastJobId": told}


def reported(status: dict[str, Any], results: Ended, now: datetime) -> dict[str, Any]:
    """The status with what became of the jobs, in the words of both versions."""
    same = status.get("lastRunStatus") == results.state
    since = status.get("lastTransitionTime") if same else stamp(now)
    # A run that 1.22 began has told of itself in its own words only.
    name, ids, begin = (
        status.get(f"lastRun{field}") or status.get(f"lastJob{field}") or ""
        for field in ("Name", "Id", "SubmitTime")
    )
    fields = _fields(begin or stamp(now), name, ids, results, since or stamp(now))
    ends = [job.end_time or 0 for job in (*results.passed, *(job for job, _ in results.failed))]
    if not results.open and any(ends):
        fields["lastJobEndTime"] = stamp(datetime.fromtimestamp(max(ends), UTC))
    return fields


def _fields(begin: str, name: str, ids: str, results: Ended, since: str) -> dict[str, Any]:
    failed = [{"jobID": str(job.job_id), "reason": reason} for job, reason in results.failed]
    return {
        "lastTransitionTime": since,
        "lastRunId": ids,
        "lastRunName": name,
        "lastRunStatus": str(results.state),
        "lastRunFailJobsAndReasons": failed,
        "lastRunErrorJobsAndReasons": [{"jobID": job, "reason": why} for job, why in results.errors],
        "lastRunCancelledJobs": list(results.cancelled),
        "lastRunSubmitTime": begin,
        "lastJobId": ids,
        "lastJobName": name,
        "lastJobState": results.state_1_22,
        "lastJobFailReasons": [each["reason"] for each in failed],
        "lastJobSubmitTime": begin,
    }


def stamp(moment: datetime) -> str:
    """A time as Kubernetes writes it."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
