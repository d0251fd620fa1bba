"""Nodes and jobs as both front doors see them, decoded straight from slurmrestd's JSON.

One set of structs reads every data parser from v0.0.40 on: unknown fields are skipped, absent ones have
defaults, and an absent or unknown state counts as busy. Fields named `raw_...` hold numbers that Slurm may
wrap as {set, infinite, number}; the property of the same name without `raw_` is what to use.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from operator import attrgetter
from typing import Final

import msgspec

from slurmery.slurm.errors import GarbledError
from slurmery.slurmconf import hostlist


class Number(msgspec.Struct, frozen=True, gc=False):
    """A number that may be unset or infinite."""

    set: bool = True
    infinite: bool = False
    number: int | float = 0


MaybeNumber = Number | int | float | None
UNSET_NUMBER: Final = Number(set=False)
_NO_TIME: Final = 0xFFFF_FFFE


def value(raw: MaybeNumber) -> int | None:
    """The number, or None if it is unset or infinite."""
    amount = limit(raw)
    return None if amount is None or not math.isfinite(amount) else int(amount)


def moment(raw: MaybeNumber) -> int | None:
    """Unix seconds, or None where Slurm says unset, infinite, 0 or its largest numbers for "not yet"."""
    seconds = value(raw) or None
    return None if seconds is None or seconds >= _NO_TIME else seconds


def limit(raw: MaybeNumber) -> float | None:
    """The number, infinity, or None if it is unset."""
    if not isinstance(raw, Number):
        return raw
    if raw.infinite:
        return math.inf
    return raw.number if raw.set else None


_BASE_STATES: Final = ("UNKNOWN", "DOWN", "IDLE", "ALLOCATED", "ERROR", "MIXED")
# A node is free of jobs only if one of these is there ...
_FREE: Final = frozenset({"IDLE", "DOWN", "FUTURE"})
# ... and none of these.
_OCCUPIED: Final = frozenset({"ALLOCATED", "MIXED", "COMPLETING", "UNKNOWN", "ERROR", "INVALID"})


class Node(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """A Slurm node. Its questions are about this answer only; whether it is fresh, its snapshot knows."""

    name: str
    state: tuple[str, ...] = ()
    reason: str = ""
    reason_set_by_user: str = ""
    comment: str = ""
    extra: str = ""
    hostname: str = ""
    address: str = ""
    cluster_name: str = ""
    instance_id: str = ""
    instance_type: str = ""
    partitions: tuple[str, ...] = ()
    features: tuple[str, ...] = ()
    active_features: tuple[str, ...] = ()
    reservation: str = ""
    topology: str = ""
    version: str = ""
    gres: str = ""
    gres_used: str = ""
    tres: str = ""
    tres_used: str = ""
    cpus: int = 0
    effective_cpus: int = 0
    alloc_cpus: int = 0
    alloc_idle_cpus: int = 0
    # In megabytes, as Slurm counts memory.
    real_memory: int = 0
    specialized_memory: int = 0
    alloc_memory: int = 0
    raw_free_mem: MaybeNumber = msgspec.field(name="free_mem", default=UNSET_NUMBER)
    raw_boot_time: MaybeNumber = msgspec.field(name="boot_time", default=UNSET_NUMBER)
    raw_slurmd_start_time: MaybeNumber = msgspec.field(name="slurmd_start_time", default=UNSET_NUMBER)
    raw_last_busy: MaybeNumber = msgspec.field(name="last_busy", default=UNSET_NUMBER)
    raw_reason_changed_at: MaybeNumber = msgspec.field(name="reason_changed_at", default=UNSET_NUMBER)

    @property
    def free_mem(self) -> int | None:
        return value(self.raw_free_mem)

    @property
    def boot_time(self) -> int | None:
        return moment(self.raw_boot_time)

    @property
    def slurmd_start_time(self) -> int | None:
        return moment(self.raw_slurmd_start_time)

    @property
    def last_busy(self) -> int | None:
        return moment(self.raw_last_busy)

    @property
    def reason_changed_at(self) -> int | None:
        return moment(self.raw_reason_changed_at)

    @property
    def base_state(self) -> str:
        """The one state among the flags that says what the node does; UNKNOWN if there is none."""
        return next((state for state in _BASE_STATES if state in self.state), "UNKNOWN")

    @property
    def is_busy(self) -> bool:
        """Whether a job may be on the node. Everything that does not clearly say no is a yes.

        A node whose only job is suspended calls itself IDLE, but may still have its memory allocated.
        """
        free = not _FREE.isdisjoint(self.state) and _OCCUPIED.isdisjoint(self.state)
        return not free or self.alloc_cpus != 0 or self.alloc_memory != 0 or self.tres_used != ""

    @property
    def is_idle(self) -> bool:
        return "IDLE" in self.state and not self.is_busy

    @property
    def is_down(self) -> bool:
        return "DOWN" in self.state

    @property
    def has_drain(self) -> bool:
        """Whether Slurm is told to start nothing new here."""
        return "DRAIN" in self.state and "UNDRAIN" not in self.state

    @property
    def is_drained(self) -> bool:
        """Whether nothing new starts here and nothing is left."""
        return self.has_drain and not self.is_busy

    def drain_owner(self, prefixes: Iterable[str]) -> str | None:
        """Which of `prefixes` the drain's reason starts with; None for another's drain, or none at all."""
        if not self.has_drain:
            return None
        return next((prefix for prefix in prefixes if prefix and self.reason.startswith(prefix)), None)


# What makes a node worth another look. Load, free memory and last_busy change with every answer.
node_facts = attrgetter(
    "state", "reason", "reason_set_by_user", "raw_reason_changed_at", "comment", "extra", "hostname",
    "address", "instance_id", "partitions", "features", "active_features", "reservation", "topology",
    "version", "gres", "tres", "tres_used", "alloc_cpus", "alloc_memory", "raw_boot_time",
    "raw_slurmd_start_time",
)  # fmt: skip


_FINISHED: Final = frozenset({
    "FAILED", "CANCELLED", "TIMEOUT", "OUT_OF_MEMORY", "BOOT_FAIL", "DEADLINE", "LAUNCH_FAILED", "NODE_FAIL",
    "PREEMPTED", "RECONFIG_FAIL", "REVOKED", "SPECIAL_EXIT", "COMPLETED", "STOPPED",
})  # fmt: skip


class Job(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """A job, or one task of a job array, as slurmctld knows it."""

    job_id: int
    job_state: tuple[str, ...] = ()
    name: str = ""
    state_reason: str = ""
    partition: str = ""
    account: str = ""
    qos: str = ""
    user_name: str = ""
    group_name: str = ""
    user_id: int = 0
    nodes: str = ""
    required_nodes: str = ""
    resv_name: str = ""
    comment: str = ""
    mail_user: str = ""
    standard_output: str = ""
    standard_error: str = ""
    tres_req_str: str = ""
    tres_alloc_str: str = ""
    tres_per_node: str = ""
    array_task_string: str = ""
    hold: bool = False
    raw_array_job_id: MaybeNumber = msgspec.field(name="array_job_id", default=UNSET_NUMBER)
    raw_array_task_id: MaybeNumber = msgspec.field(name="array_task_id", default=UNSET_NUMBER)
    raw_cpus: MaybeNumber = msgspec.field(name="cpus", default=UNSET_NUMBER)
    raw_node_count: MaybeNumber = msgspec.field(name="node_count", default=UNSET_NUMBER)
    raw_memory_per_node: MaybeNumber = msgspec.field(name="memory_per_node", default=UNSET_NUMBER)
    raw_submit_time: MaybeNumber = msgspec.field(name="submit_time", default=UNSET_NUMBER)
    raw_start_time: MaybeNumber = msgspec.field(name="start_time", default=UNSET_NUMBER)
    raw_end_time: MaybeNumber = msgspec.field(name="end_time", default=UNSET_NUMBER)
    raw_time_limit: MaybeNumber = msgspec.field(name="time_limit", default=UNSET_NUMBER)

    @property
    def array_job_id(self) -> int | None:
        """The array's id; None for a job that is no array."""
        return value(self.raw_array_job_id) or None

    @property
    def array_task_id(self) -> int | None:
        return value(self.raw_array_task_id)

    @property
    def cpus(self) -> int | None:
        return value(self.raw_cpus)

    @property
    def node_count(self) -> int | None:
        return value(self.raw_node_count)

    @property
    def memory_per_node(self) -> int | None:
        """Megabytes; 0 is all that a node has."""
        return value(self.raw_memory_per_node)

    @property
    def submit_time(self) -> int | None:
        return moment(self.raw_submit_time)

    @property
    def start_time(self) -> int | None:
        """When it started; for a pending job, when Slurm expects it to."""
        return moment(self.raw_start_time)

    @property
    def end_time(self) -> int | None:
        """When it ended; for a running job, when its limit ends it."""
        return moment(self.raw_end_time)

    @property
    def time_limit(self) -> float | None:
        """Minutes, or infinity; None for the partition's limit."""
        return limit(self.raw_time_limit)

    @property
    def state(self) -> str:
        """The state without its flags."""
        return self.job_state[0] if self.job_state else "UNKNOWN"

    @property
    def is_pending(self) -> bool:
        return self.state == "PENDING"

    @property
    def is_running(self) -> bool:
        return self.state == "RUNNING"

    @property
    def is_suspended(self) -> bool:
        return "SUSPENDED" in self.job_state

    @property
    def is_finished(self) -> bool:
        return self.state in _FINISHED

    @property
    def holds_nodes(self) -> bool:
        """Whether its nodes are not free for others; also while it is suspended, starting or cleaning up."""
        ended = self.is_finished and "COMPLETING" not in self.job_state
        return bool(self.nodes) and not ended and not self.is_pending

    @property
    def node_names(self) -> tuple[str, ...]:
        """The nodes it has or had."""
        try:
            return hostlist.expand(self.nodes)
        except hostlist.HostlistError as error:
            raise GarbledError(f"job {self.job_id}: {error}") from None
