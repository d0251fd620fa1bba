"""Ready, Progressing, Degraded: how every kind of this front door says how it stands.

    Ready         does it do its work now?
    Progressing   is something on its way, or waited for?
    Degraded      is something wrong that somebody should look at?

Each has a reason for programs and a sentence for people. Decisions make `Condition`s without times;
`stamped` makes of them what is written to the status, and `changes` the Events that tell of it.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Literal

from slurmery.api.condition import Condition as Stamped

READY: Final = "Ready"
PROGRESSING: Final = "Progressing"
DEGRADED: Final = "Degraded"

# What upstream's controllers call a step that failed.
SYNC_FAILED: Final = "SyncFailed"
_REASONS: Final = {"ControllerNotFound": "ControllerRefFailed"}

_TIME: Final = "%Y-%m-%dT%H:%M:%SZ"

Status = Literal["True", "False", "Unknown"]


@dataclass(frozen=True)
class Condition:
    """One thing that is true, false or unknown about an object."""

    type: str
    status: Status
    reason: str
    message: str


@dataclass(frozen=True)
class Problem:
    """What keeps the world from being as the spec says: a reason for programs, a sentence for people."""

    reason: str
    message: str


@dataclass(frozen=True)
class Event:
    """A sentence to record about the object."""

    type: Literal["Normal", "Warning"]
    reason: str
    action: str
    note: str


@dataclass(frozen=True)
class Rollout:
    """What a StatefulSet or Deployment reports of its pods; `generation` is the one that is wanted."""

    generation: int
    observed_generation: int
    replicas: int
    ready: int
    updated: int

    def settled(self, wanted: int) -> bool:
        """Whether all wanted pods are there, new, ready, and no others."""
        seen = self.observed_generation >= self.generation
        return seen and self.replicas == self.ready == self.updated == wanted


def ready(
    rollout: Rollout | None,
    wanted: int,
    pods: str,
    *,
    enough: int | None = None,
    blocked: Sequence[Problem] = (),
) -> Condition:
    """Ready when `enough` pods are (all, unless said otherwise); `pods` names them, e.g. "slurmctld"."""
    if wanted == 0:
        return Condition(READY, "True", "ScaledToZero", f"No {pods} pod is wanted.")
    have = rollout.ready if rollout else 0
    message = f"{have} of {wanted} {pods} pods are ready."
    if have >= (wanted if enough is None else enough):
        return Condition(READY, "True", "PodsReady", message)
    if blocked:
        return Condition(READY, "False", blocked[0].reason, f"{message} {blocked[0].message}")
    return Condition(READY, "False", "PodsNotReady", message)


def progressing(
    rollout: Rollout | None, wanted: int, pods: str, *, blocked: Sequence[Problem] = ()
) -> Condition:
    """Progressing until all wanted pods are new and ready; not while problems block every change."""
    if blocked:
        message = f"The {pods} pods stay as they are: {blocked[0].message}"
        return Condition(PROGRESSING, "False", blocked[0].reason, message)
    if rollout is None:
        return Condition(PROGRESSING, "True", "Creating", f"The {pods} pods are about to be created.")
    if rollout.settled(wanted):
        return Condition(PROGRESSING, "False", "UpToDate", f"All {pods} pods are as the spec says.")
    message = f"{rollout.updated} of {wanted} {pods} pods are up to date, {rollout.ready} are ready."
    return Condition(PROGRESSING, "True", "RollingOut", message)


def degraded(problems: Sequence[Problem]) -> Condition:
    """Degraded by all the problems; programs are told the first."""
    if not problems:
        return Condition(DEGRADED, "False", "AsExpected", "Nothing is known to be wrong.")
    return Condition(DEGRADED, "True", problems[0].reason, " ".join(each.message for each in problems))


def degrade(conditions: Iterable[Condition], problems: Sequence[Problem]) -> tuple[Condition, ...]:
    """The conditions, with problems that came up after the decision: objects that the server refused."""
    return tuple(_with(each, problems) if each.type == DEGRADED else each for each in conditions)


def _with(condition: Condition, problems: Sequence[Problem]) -> Condition:
    known = [Problem(condition.reason, condition.message)] if condition.status == "True" else []
    return degraded([*known, *problems])


def stamped(
    conditions: Iterable[Condition], before: Iterable[Stamped], generation: int, now: datetime
) -> list[dict[str, Any]]:
    """What to write to the status; a time changes only with its status, and foreign types stay."""
    known = {each.type: each for each in before}
    fresh = {each.type: _stamp(each, known.get(each.type), generation, now) for each in conditions}
    kept = {
        kind: each.model_dump(mode="json", by_alias=True, exclude_unset=True) for kind, each in known.items()
    }
    return [condition for _, condition in sorted((kept | fresh).items())]


def _stamp(condition: Condition, before: Stamped | None, generation: int, now: datetime) -> dict[str, Any]:
    same = before is not None and before.status == condition.status
    since = before.last_transition_time if before and same else now
    return {
        "type": condition.type,
        "status": condition.status,
        "reason": condition.reason,
        "message": condition.message,
        "observedGeneration": generation,
        "lastTransitionTime": since.strftime(_TIME),
    }


def timed(
    conditions: Iterable[dict[str, Any]], before: Iterable[Mapping[str, Any]], now: datetime
) -> list[dict[str, Any]]:
    """The same for kinds whose conditions also tell when they were last written."""
    known = {each["type"]: each for each in before}
    written = now.strftime(_TIME)
    result = []
    for each in conditions:
        old = known.get(each["type"], {})
        same = {**old, **each} == old
        result.append({**each, "lastUpdateTime": old.get("lastUpdateTime", written) if same else written})
    return result


def changes(conditions: Iterable[Condition], before: Iterable[Stamped]) -> tuple[Event, ...]:
    """One Event for every condition that says something else than before."""
    known = {each.type: (each.status, each.reason) for each in before}
    messages = {each.type: each.message for each in before}
    return tuple(
        _event(each)
        for each in conditions
        if known.get(each.type) != (each.status, each.reason)
        or (each.type == DEGRADED and messages.get(each.type) != each.message)
    )


def _event(condition: Condition) -> Event:
    if condition.type == DEGRADED and condition.status == "True":
        return Event("Warning", _REASONS.get(condition.reason, SYNC_FAILED), "Sync", condition.message)
    return Event("Normal", condition.reason, "Sync", condition.message)
