"""How much is exported: which generation of names, with or without single jobs, which labels.

Everything that grows with users' habits rather than with the cluster can be switched off or is bounded here.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

# What Soperator 5.0 added to metrics that 1.22 has.
_ADDED_LABELS: Final = frozenset({
    "state_is_completing", "state_is_fail", "state_is_planned", "state_is_not_responding", "state_is_invalid",
    "state_is_cloud", "state_is_power_down", "state_is_power_drain", "state_is_powered_down",
    "state_is_powering_down", "state_is_powering_up", "state_is_power_up", "is_unavailable",
    "reservation_name", "comment", "user_mail", "nvlink_instance_group", "nodeset_name",
})  # fmt: skip

# Labels that no series needs to be told from another, in the order of how much they cost.
OPTIONAL_LABELS: Final = (
    "standard_output",
    "standard_error",
    "job_name",
    "user_mail",
    "job_state_reason",
    "submit_time",
    "start_time",
    "end_time",
    "finished_time",
    "comment",
    "reason",
    "reservation_name",
    "address",
    "instance_id",
    "nvlink_instance_group",
    "nodeset_name",
)


class Generation(StrEnum):
    """Whose set of names and labels is served. 5.0 has all that 1.22 has, and more."""

    V1_22 = "1.22"
    V5_0 = "5.0"


@dataclass(frozen=True, kw_only=True)
class Scope:
    """What to export. Raises ValueError for a label that cannot be left out."""

    generation: Generation = Generation.V5_0
    # Whether each job has series of its own; sums over jobs are always there.
    jobs: bool = True
    omitted_labels: frozenset[str] = frozenset()
    # Series of single jobs beyond this number are left out, those of finished jobs first.
    max_job_series: int = 500_000

    def __post_init__(self) -> None:
        if unknown := self.omitted_labels - set(OPTIONAL_LABELS):
            raise ValueError(
                f"cannot leave out {', '.join(sorted(unknown))}: only {', '.join(OPTIONAL_LABELS)} can be"
            )

    @property
    def is_full(self) -> bool:
        """Whether the families that came with 5.0 are there."""
        return self.generation is Generation.V5_0

    @property
    def absent_labels(self) -> frozenset[str]:
        """What is left out for whatever reason."""
        return self.omitted_labels if self.is_full else self.omitted_labels | _ADDED_LABELS
