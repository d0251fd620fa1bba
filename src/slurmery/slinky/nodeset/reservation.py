"""ScheduledUpdate: the Slurm reservation inside of which workers are replaced.

    wanted, not there           made, if it lies ahead
    there, nodes differ         its nodes are changed
    there, time differs         moved; not once it has begun
    there, flags differ         removed and made anew; not once it has begun
    there, not wanted           removed; until Slurm says that it is gone, a finalizer holds the NodeSet

All of it follows from Slurm's list of reservations: nothing is remembered, and without a fresh list nothing
is done. One that repeats is compared with its next occurrence, as Slurm moves its start along.
"""

from collections.abc import Mapping, Set
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Final

from msgspec import UNSET

from slurmery.api.duration import duration
from slurmery.api.slinky import NodeSet
from slurmery.doors.conditions import Condition, Event, Problem
from slurmery.slinky import names
from slurmery.slurm.model import Number
from slurmery.slurm.records import Reservation
from slurmery.slurm.requests import ReservationRequest
from slurmery.slurmconf import hostlist

SCHEDULED_UPDATE: Final = "ScheduledUpdate"
CONDITION: Final = "ReservationCreated"

_ALWAYS: Final = frozenset({"MAINT", "IGNORE_JOBS"})
_DAY: Final = 86400
_PERIODS: Final[Mapping[str, int]] = {
    "HOURLY": 3600, "DAILY": _DAY, "WEEKDAY": _DAY, "WEEKEND": _DAY, "WEEKLY": 7 * _DAY,
}  # fmt: skip
_FORCE_START: Final = "FORCE_START"
# Those that a reservation shows once it was made ...
_LASTING: Final = frozenset({
    *_ALWAYS, *_PERIODS, "ANY_NODES", "FLEX", "MAGNETIC", "NO_HOLD_JOBS_AFTER_END", "OVERLAP", "PURGE_COMP",
    "STATIC", "TIME_FLOAT", "USER_DELETE",
})  # fmt: skip
# ... and those that only say how. Slurm makes the reservation without a flag that it does not know.
_OFFERED: Final = _LASTING | {
    _FORCE_START, "ALL_NODES", "DURATION_MINUS", "DURATION_PLUS", "PART_NODES", "REPLACE", "REPLACE_DOWN",
    "SKIP", "SPEC_NODES",
}  # fmt: skip

_UNKNOWN: Final = Problem(
    "ReservationUnknown", "Slurm has not said lately whether the maintenance reservation is gone."
)


@dataclass(frozen=True)
class Seen:
    """What Slurm has. `found` is that of our name; `known` are the names of all its nodes."""

    found: Reservation | None
    known: Set[str]
    now: float


@dataclass(frozen=True)
class Steps:
    """What to do about the reservation, in this order, and what to say about it.

    `held` says whether the NodeSet may not go yet. Without a condition, what was said before still holds.
    """

    held: bool = False
    remove: bool = False
    request: ReservationRequest | None = None
    condition: Condition | None = None
    problems: tuple[Problem, ...] = ()


def decide(nodeset: NodeSet, nodes: Set[str], wanted: bool, seen: Seen | None) -> Steps:
    """From the nodes of the workers that are registered; `seen` is None without a fresh answer."""
    schedule = nodeset.spec.update_strategy.scheduled_update
    if not wanted or schedule is None or schedule.start_time is None:
        return _unwanted(nodeset, seen)
    flags = _ALWAYS | {flag.strip().upper() for flag in schedule.flags}
    plan = _Plan(
        name=names.reservation(nodeset.metadata.name),
        start=int(schedule.start_time.timestamp()),
        minutes=max(int(duration(schedule.duration).total_seconds()) // 60, 1),
        flags=flags & _OFFERED,
    )
    unknown = sorted(flags - _OFFERED)
    problems = (
        (Problem("InvalidFlags", f"Slurm knows no reservation flag {', '.join(unknown)}; it is left out."),)
        if unknown
        else ()
    )
    if seen is None:
        return Steps(held=True, problems=problems)
    steps = plan.absent(nodes, seen.now) if seen.found is None else plan.present(nodes, seen.found, seen)
    return replace(steps, problems=problems)


def requested(nodeset: NodeSet, desired: int) -> bool:
    """Whether there should be a reservation at all."""
    going = nodeset.metadata.deletion_timestamp is not None
    return nodeset.spec.update_strategy.type == SCHEDULED_UPDATE and desired > 0 and not going


def event(steps: Steps) -> Event:
    """What to say of steps that were taken."""
    if steps.request is None:
        return Event("Normal", "ReservationRemoved", "Reserve", "The maintenance reservation was removed.")
    made = steps.request.users is not UNSET
    what = "made" if made else "changed"
    note = f"Reservation {steps.request.name} was {what}."
    return Event("Normal", CONDITION if made else "ReservationUpdated", "Reserve", note)


def _unwanted(nodeset: NodeSet, seen: Seen | None) -> Steps:
    before = nodeset.status.conditions if nodeset.status else ()
    if names.RESERVATION_FINALIZER in nodeset.metadata.finalizers:
        if seen is None:
            return Steps(held=True, problems=(_UNKNOWN,))
        if seen.found is not None:
            return Steps(held=True, remove=True)
    if all(each.type != CONDITION for each in before):
        return Steps()
    return Steps(condition=_missing("No maintenance reservation is wanted."))


@dataclass(frozen=True)
class _Plan:
    name: str
    start: int
    minutes: int
    flags: frozenset[str]

    def absent(self, nodes: Set[str], now: float) -> Steps:
        if not nodes:
            return Steps(held=True, condition=_missing("No worker is registered in Slurm yet."))
        start = self._occurrence(now)
        if start > now or (_FORCE_START in self.flags and now < start + self.minutes * 60):
            soon = _missing(f"Reservation {self.name} is about to be made.")
            return Steps(held=True, request=self._whole(start, nodes), condition=soon)
        late = f"{_shown(self.start)} has passed: no worker is replaced until startTime lies ahead."
        return Steps(held=True, condition=_missing(late))

    def present(self, nodes: Set[str], found: Reservation, seen: Seen) -> Steps:
        start, end = found.start_time or 0, found.end_time or 0
        there = frozenset(found.node_names)
        begun = start <= seen.now
        # A worker that is replaced right now is away for a moment, and comes back to the reservation.
        wanted = (nodes | there) & seen.known if begun else nodes
        text = f"Reservation {self.name} holds {len(there)} nodes from {_shown(start)} to {_shown(end)}."
        made = Steps(held=True, condition=Condition(CONDITION, "True", "Created", text))
        if not wanted or (begun and end <= seen.now):
            return made  # ended: Slurm is about to drop it, or to move it along
        if begun:
            return replace(made, request=self._nodes(wanted)) if wanted != there else made
        due = self._occurrence(seen.now)
        if set(found.flags) & _LASTING != self.flags & _LASTING or found.users != names.SLURM_USER:
            return replace(made, remove=True, request=self._whole(due, wanted))
        if (start, end) != (due, due + self.minutes * 60):
            return replace(made, request=self._moved(due, wanted))
        return replace(made, request=self._nodes(wanted)) if wanted != there else made

    def _occurrence(self, now: float) -> int:
        """The start of the one that is next, or now; of one that does not repeat, its start."""
        period = min((_PERIODS[flag] for flag in self.flags & _PERIODS.keys()), default=0)
        missed = now - self.start - self.minutes * 60
        if not period or missed < 0:
            return self.start
        start = self.start + (int(missed) // period + 1) * period
        while not self._on_its_day(start):
            start += period
        return start

    def _on_its_day(self, start: int) -> bool:
        weekend = datetime.fromtimestamp(start, UTC).weekday() > 4
        return not ({"WEEKDAY"} if weekend else {"WEEKEND"}) & self.flags

    def _whole(self, start: int, nodes: Set[str]) -> ReservationRequest:
        return ReservationRequest(
            name=self.name,
            start_time=Number(number=start),
            duration=Number(number=self.minutes),
            node_list=_list(nodes),
            users=(names.SLURM_USER,),
            flags=tuple(sorted(self.flags)),
        )

    def _moved(self, start: int, nodes: Set[str]) -> ReservationRequest:
        return ReservationRequest(
            name=self.name,
            start_time=Number(number=start),
            duration=Number(number=self.minutes),
            node_list=_list(nodes),
        )

    def _nodes(self, nodes: Set[str]) -> ReservationRequest:
        return ReservationRequest(name=self.name, node_list=_list(nodes))


def _list(nodes: Set[str]) -> tuple[str, ...]:
    return (hostlist.compress(sorted(nodes, key=hostlist.natural)),)


def _missing(message: str) -> Condition:
    return Condition(CONDITION, "False", "NotExists", message)


def _shown(when: int) -> str:
    return datetime.fromtimestamp(when, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
