"""The rest of what slurmrestd tells: partitions, reservations, pings, statistics, accounted jobs.

Same rules as in `model`: unknown fields are skipped, absent ones have defaults.
"""

from __future__ import annotations

import msgspec

from slurmery.slurm.errors import GarbledError
from slurmery.slurm.model import UNSET_NUMBER, MaybeNumber, limit, moment, value
from slurmery.slurmconf import hostlist


class _PartitionNodes(msgspec.Struct, frozen=True, gc=False):
    configured: str = ""
    total: int = 0


class _PartitionTres(msgspec.Struct, frozen=True, gc=False):
    configured: str = ""


class _PartitionState(msgspec.Struct, frozen=True, gc=False):
    state: tuple[str, ...] = ()


class _PartitionMaximums(msgspec.Struct, frozen=True, gc=False):
    time: MaybeNumber = UNSET_NUMBER


class Partition(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """A partition and the nodes it is made of."""

    name: str
    node_sets: str = ""
    raw_nodes: _PartitionNodes = msgspec.field(name="nodes", default_factory=_PartitionNodes)
    raw_tres: _PartitionTres = msgspec.field(name="tres", default_factory=_PartitionTres)
    raw_partition: _PartitionState = msgspec.field(name="partition", default_factory=_PartitionState)
    raw_maximums: _PartitionMaximums = msgspec.field(name="maximums", default_factory=_PartitionMaximums)

    @property
    def nodes(self) -> str:
        """Its nodes as a hostlist."""
        return self.raw_nodes.configured

    @property
    def node_count(self) -> int:
        return self.raw_nodes.total

    @property
    def tres(self) -> str:
        return self.raw_tres.configured

    @property
    def is_up(self) -> bool:
        return "UP" in self.raw_partition.state

    @property
    def time_limit(self) -> float | None:
        """Minutes, or infinity."""
        return limit(self.raw_maximums.time)


class Reservation(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """A reservation; `node_list` is a hostlist, `users` and `accounts` are comma-separated."""

    name: str
    node_list: str = ""
    node_count: int = 0
    partition: str = ""
    users: str = ""
    accounts: str = ""
    flags: tuple[str, ...] = ()
    raw_start_time: MaybeNumber = msgspec.field(name="start_time", default=UNSET_NUMBER)
    raw_end_time: MaybeNumber = msgspec.field(name="end_time", default=UNSET_NUMBER)

    @property
    def start_time(self) -> int | None:
        return moment(self.raw_start_time)

    @property
    def end_time(self) -> int | None:
        return moment(self.raw_end_time)

    @property
    def node_names(self) -> tuple[str, ...]:
        """The nodes it holds."""
        try:
            return hostlist.expand(self.node_list)
        except hostlist.HostlistError as error:
            raise GarbledError(f"reservation {self.name}: {error}") from None


class Ping(msgspec.Struct, frozen=True, gc=False):
    """Whether one slurmctld answers. A wrong token looks the same as a dead daemon here."""

    hostname: str = ""
    pinged: str = ""
    responding: bool = False
    latency: int = 0

    @property
    def is_up(self) -> bool:
        return self.responding or self.pinged == "UP"


class RpcByType(msgspec.Struct, frozen=True, gc=False):
    """How often one kind of message came and how many microseconds it took in all."""

    message_type: str = ""
    count: int = 0
    total_time: int = 0


class RpcByUser(msgspec.Struct, frozen=True, gc=False):
    """How often one user's messages came and how many microseconds they took in all."""

    user: str = ""
    user_id: int = 0
    count: int = 0
    total_time: int = 0


class Diag(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """slurmctld's own statistics."""

    server_thread_count: int = 0
    agent_queue_size: int = 0
    dbd_agent_queue_size: int = 0
    schedule_cycle_last: int = 0
    schedule_cycle_mean: int = 0
    schedule_queue_length: int = 0
    bf_last_depth: int = 0
    bf_queue_len: int = 0
    jobs_submitted: int = 0
    jobs_started: int = 0
    jobs_completed: int = 0
    jobs_canceled: int = 0
    jobs_failed: int = 0
    jobs_pending: int = 0
    jobs_running: int = 0
    rpcs_by_message_type: tuple[RpcByType, ...] = ()
    rpcs_by_user: tuple[RpcByUser, ...] = ()


class JobState(msgspec.Struct, frozen=True, gc=False):
    """The cheap view of a job: its id (`12` or, of an array, `12_3`) and its state."""

    job_id: str
    state: tuple[str, ...] = ()


class _AccountedState(msgspec.Struct, frozen=True, gc=False):
    current: tuple[str, ...] = ()
    reason: str = ""


class _AccountedTime(msgspec.Struct, frozen=True, gc=False):
    elapsed: int = 0
    start: int = 0
    end: int = 0
    submission: int = 0


class _ExitCode(msgspec.Struct, frozen=True, gc=False):
    return_code: MaybeNumber = UNSET_NUMBER


class _AccountedTres(msgspec.Struct, frozen=True, gc=False):
    type: str = ""
    name: str = ""
    count: int = 0


class _AccountedTresLists(msgspec.Struct, frozen=True, gc=False):
    allocated: tuple[_AccountedTres, ...] = ()


class AccountedJob(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """A job as slurmdbd remembers it."""

    job_id: int
    name: str = ""
    user: str = ""
    account: str = ""
    partition: str = ""
    cluster: str = ""
    nodes: str = ""
    raw_state: _AccountedState = msgspec.field(name="state", default_factory=_AccountedState)
    raw_time: _AccountedTime = msgspec.field(name="time", default_factory=_AccountedTime)
    raw_exit_code: _ExitCode = msgspec.field(name="exit_code", default_factory=_ExitCode)
    raw_tres: _AccountedTresLists = msgspec.field(name="tres", default_factory=_AccountedTresLists)

    @property
    def state(self) -> str:
        return self.raw_state.current[0] if self.raw_state.current else "UNKNOWN"

    @property
    def submit_time(self) -> int | None:
        return moment(self.raw_time.submission)

    @property
    def start_time(self) -> int | None:
        return moment(self.raw_time.start)

    @property
    def end_time(self) -> int | None:
        return moment(self.raw_time.end)

    @property
    def elapsed(self) -> int:
        """Seconds of run time."""
        return self.raw_time.elapsed

    @property
    def exit_code(self) -> int | None:
        return value(self.raw_exit_code.return_code)

    @property
    def allocated(self) -> dict[str, int]:
        """Amounts by TRES name: `cpu`, `mem` in megabytes, `gres/gpu`; what was never set is left out."""
        return {
            f"{tres.type}/{tres.name}" if tres.name else tres.type: tres.count
            for tres in self.raw_tres.allocated
            if tres.count >= 0
        }
