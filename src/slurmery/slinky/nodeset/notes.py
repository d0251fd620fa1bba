"""Annotations that worker pods carry for others to read.

pod-deadline     when the last of the worker's running jobs must have ended: the order of scale-in goes by it
topology spec    copied from the Kubernetes node, for slurmd to register with when it starts
"""

import math
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Final

from slurmery.doors.hearing import Slurm
from slurmery.doors.pods import WorkerPod
from slurmery.slinky import names
from slurmery.slinky.nodeset.records import topology
from slurmery.slinky.nodeset.views import Host
from slurmery.slurm.errors import GarbledError
from slurmery.slurm.model import Job
from slurmery.workers.model import Worker

# The longest time that upstream can tell, for a job without a limit.
_FOREVER: Final = 2**63 // 10**9


def notes(worker: Worker, pod: WorkerPod, host: Host | None, slurm: Slurm) -> Mapping[str, str | None]:
    """The annotations to change; None for one that is to go."""
    wanted: dict[str, str | None] = {}
    if host:
        place = topology(host)
        if pod.annotations.get(names.TOPOLOGY_SPEC, "") != place:
            wanted[names.TOPOLOGY_SPEC] = place
    if slurm.fresh(worker.slurm_name):
        wanted |= _deadline(worker, pod, slurm)
    return wanted


def _deadline(worker: Worker, pod: WorkerPod, slurm: Slurm) -> Mapping[str, str | None]:
    try:
        jobs = slurm.snapshot.jobs_on(worker.slurm_name)
    except GarbledError:
        return {}  # one of the jobs, nobody knows which, may be here
    wanted = latest_end(jobs)
    changed = pod.annotations.get(names.POD_DEADLINE) != wanted
    return {names.POD_DEADLINE: wanted} if changed else {}


def latest_end(jobs: Sequence[Job]) -> str | None:
    """When the last of those that run must have ended; None if none runs."""
    ends = [_end(job) for job in jobs if job.is_running]
    known = [end for end in ends if end is not None]
    return datetime.fromtimestamp(max(known), UTC).strftime("%Y-%m-%dT%H:%M:%SZ") if known else None


def _end(job: Job) -> int | None:
    if job.start_time is None or job.time_limit is None:
        return job.end_time
    return job.start_time + (_FOREVER if math.isinf(job.time_limit) else int(job.time_limit) * 60)
