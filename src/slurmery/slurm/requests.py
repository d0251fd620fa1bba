"""What we ask slurmrestd to do. A field that is not given is not sent, so Slurm leaves it as it is."""

from __future__ import annotations

import msgspec
from msgspec import UNSET, UnsetType

from slurmery.slurm.model import Number


class NodeUpdate(msgspec.Struct, frozen=True, kw_only=True):
    """Changes to one or more nodes: `NodeUpdate(state=("DRAIN",), reason="...")`."""

    state: tuple[str, ...] | UnsetType = UNSET
    reason: str | UnsetType = UNSET
    comment: str | UnsetType = UNSET
    extra: str | UnsetType = UNSET
    features: tuple[str, ...] | UnsetType = UNSET
    features_act: tuple[str, ...] | UnsetType = UNSET
    # From v0.0.43 on; before, Slurm ignores it with a warning.
    topology_str: str | UnsetType = UNSET


class NodesUpdate(NodeUpdate, frozen=True, kw_only=True):
    """The same for several nodes at once; `name` holds hostlists."""

    name: tuple[str, ...]


class ReservationRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A reservation to make or change. `start_time` is Unix seconds, `duration` minutes."""

    name: str
    start_time: Number | UnsetType = UNSET
    end_time: Number | UnsetType = UNSET
    duration: Number | UnsetType = UNSET
    node_list: tuple[str, ...] | UnsetType = UNSET
    partition: str | UnsetType = UNSET
    users: tuple[str, ...] | UnsetType = UNSET
    accounts: tuple[str, ...] | UnsetType = UNSET
    flags: tuple[str, ...] | UnsetType = UNSET
    comment: str | UnsetType = UNSET


class JobRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A batch job to submit. Slurm insists on a working directory and an environment."""

    name: str
    current_working_directory: str
    environment: tuple[str, ...]
    partition: str | UnsetType = UNSET
    account: str | UnsetType = UNSET
    comment: str | UnsetType = UNSET
    reservation: str | UnsetType = UNSET
    required_nodes: tuple[str, ...] | UnsetType = UNSET
    # A node count or range: `2`, `1-4`.
    nodes: str | UnsetType = UNSET
    array: str | UnsetType = UNSET
    tres_per_node: str | UnsetType = UNSET
    memory_per_node: Number | UnsetType = UNSET
    time_limit: Number | UnsetType = UNSET
    tasks: int | UnsetType = UNSET
    tasks_per_node: int | UnsetType = UNSET
    cpus_per_task: int | UnsetType = UNSET
    # `none` is a node for this job alone.
    shared: tuple[str, ...] | UnsetType = UNSET
    # Unix seconds after which it is not worth starting.
    deadline: int | UnsetType = UNSET
    requeue: bool | UnsetType = UNSET
    hold: bool | UnsetType = UNSET
    standard_output: str | UnsetType = UNSET
    standard_error: str | UnsetType = UNSET


class Submission(msgspec.Struct, frozen=True):
    """The body of a submit call."""

    script: str
    job: JobRequest


class JobFilter(msgspec.Struct, frozen=True, kw_only=True):
    """Which jobs to cancel: those that match every given field. Slurm takes "no field" for "all jobs"."""

    jobs: tuple[str, ...] | UnsetType = UNSET
    user_name: str | UnsetType = UNSET
    account: str | UnsetType = UNSET
    partition: str | UnsetType = UNSET
    reservation: str | UnsetType = UNSET
    job_name: str | UnsetType = UNSET
    signal: str | UnsetType = UNSET

    @property
    def is_empty(self) -> bool:
        """Whether nothing narrows the choice; an empty list or text narrows nothing either."""
        return not any(getattr(self, field) for field in self.__struct_fields__ if field != "signal")
