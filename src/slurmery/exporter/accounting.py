"""Jobs from accounting instead of from slurmctld, which forgets them sooner."""

from __future__ import annotations

from slurmery.slurm.model import Job
from slurmery.slurm.records import AccountedJob

# slurmdbd may run on a machine whose clock is ahead of ours.
_SKEW_SECONDS = 60


def query(now: float, lookback: float) -> dict[str, str]:
    """Which jobs to ask for: those that ran or waited in the time before now."""
    return {
        "start_time": f"uts{int(now - lookback)}",
        "end_time": f"uts{int(now) + _SKEW_SECONDS}",
        "skip_steps": "true",
        "disable_truncate_usage_time": "true",
    }


def job(record: AccountedJob) -> Job:
    """The record as slurmctld would have told it, as far as accounting knows."""
    amounts = record.allocated
    allocated = [f"{name}={amount}{'M' if name == 'mem' else ''}" for name, amount in amounts.items()]
    return Job(
        job_id=record.job_id,
        job_state=(record.state,),
        name=record.name,
        state_reason=record.raw_state.reason,
        partition=record.partition,
        account=record.account,
        user_name=record.user,
        nodes="" if record.nodes == "None assigned" else record.nodes,
        tres_alloc_str=",".join(allocated),
        raw_submit_time=record.submit_time,
        raw_start_time=record.start_time,
        raw_end_time=record.end_time,
    )
