"""What the caches of this front door keep of objects beside those that both doors know."""

from typing import Any

import msgspec

from slurmery.kube.ownership import Footprint
from slurmery.nebius.slurmcluster.observed import Filling, PopulateJob


class _Condition(msgspec.Struct, frozen=True, gc=False):
    type: str
    status: str
    message: str = ""


class _JobStatus(msgspec.Struct, frozen=True, gc=False):
    succeeded: int = 0
    conditions: tuple[_Condition, ...] | None = None


class Job(Footprint, frozen=True, gc=False):
    """A Job of ours."""

    spec: dict[str, Any] = msgspec.field(default_factory=dict)
    status: _JobStatus = _JobStatus()

    @property
    def populate(self) -> PopulateJob:
        """What it is as a populate-jail Job."""
        failed = [
            each
            for each in self.status.conditions or ()
            if each.type in ("Failed", "FailureTarget") and each.status == "True"
        ]
        overwrites = any(
            variable.get("name") == "OVERWRITE" and variable.get("value") == "1"
            for container in self.spec["template"]["spec"]["containers"]
            for variable in container.get("env") or ()
        )
        if self.status.succeeded:
            return PopulateJob(Filling.SUCCEEDED, overwrites)
        if failed:
            return PopulateJob(Filling.FAILED, overwrites, failed[0].message)
        return PopulateJob(Filling.RUNS, overwrites)


class _DatabaseStatus(msgspec.Struct, frozen=True, gc=False):
    conditions: tuple[_Condition, ...] | None = None


class Database(Footprint, frozen=True, gc=False):
    """A MariaDB object of the mariadb-operator."""

    status: _DatabaseStatus = _DatabaseStatus()

    @property
    def ready(self) -> bool:
        return any(each.type == "Ready" and each.status == "True" for each in self.status.conditions or ())
