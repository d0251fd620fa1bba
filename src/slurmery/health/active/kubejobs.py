"""How the Kubernetes Jobs of a check stand: what the caches keep of them, and the status that follows."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any, Final

import msgspec

from slurmery.health.active.run import stamp
from slurmery.kube.meta import View
from slurmery.kube.ownership import Footprint

_STATES: Final = {
    "Complete": "Complete",
    "SuccessCriteriaMet": "Complete",
    "Failed": "Failed",
    "FailureTarget": "Failed",
    "Suspended": "Suspended",
}


class _Part(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    pass


class _Condition(_Part, frozen=True, gc=False):
    type: str
    status: str


class _JobStatus(_Part, frozen=True, gc=False):
    active: int = 0
    conditions: tuple[_Condition, ...] | None = None


class Job(View, frozen=True, gc=False):
    """A Job of a check."""

    status: _JobStatus = _JobStatus()

    @property
    def state(self) -> str:
        """In the words of the status."""
        if self.status.active:
            return "Active"
        said = self.status.conditions or ()
        if not said:
            return "Pending"
        return next(
            (_STATES[each.type] for each in said if each.status == "True" and each.type in _STATES), "Unknown"
        )


class _CronStatus(_Part, frozen=True, gc=False):
    last_schedule_time: datetime | None = None
    last_successful_time: datetime | None = None


class CronJob(Footprint, frozen=True, gc=False):
    """A CronJob of a check."""

    status: _CronStatus = _CronStatus()


def status(
    jobs: Iterable[Job], cron: CronJob | None, before: dict[str, Any] | None, now: datetime
) -> dict[str, Any] | None:
    """k8sJobsStatus of the latest Job; what it was before if there is none any more."""
    latest = max(
        jobs, key=lambda job: (str(job.metadata.creation_timestamp), job.metadata.name), default=None
    )
    if latest is None:
        return before
    told = cron.status if cron else _CronStatus()
    fresh: dict[str, Any] = {"lastJobName": latest.metadata.name, "lastJobStatus": latest.state}
    if told.last_schedule_time:
        fresh["lastJobScheduleTime"] = stamp(told.last_schedule_time)
    if told.last_successful_time:
        fresh["lastJobSuccessfulTime"] = stamp(told.last_successful_time)
    same = before is not None and before.get("lastJobStatus") == latest.state
    since = before.get("lastTransitionTime") if before and same else None
    return {**fresh, "lastTransitionTime": since or stamp(now)}
