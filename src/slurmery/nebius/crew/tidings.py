"""Events about the workers: one for each kind of thing that a pass did, however many pods it did it to."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Final

from slurmery.doors.conditions import Event, Problem
from slurmery.nebius.crew.decide import Decision, Squad, deletions
from slurmery.workers.model import Cause

_NAMED: Final = 3


def tidings(squad: Squad, decision: Decision, problems: Sequence[Problem]) -> Iterator[Event]:
    """What a pass has begun, done, and failed to do."""
    chosen: dict[Cause, list[str]] = defaultdict(list)
    for pod, cause in decision.plan.mark.items():
        chosen[cause].append(pod)
    for cause, pods in sorted(chosen.items()):
        yield Event("Normal", "WorkersLeaving", "Drain", f"To be drained first, {_pods(pods)}: {cause}.")
    if gone := deletions(squad, decision.plan):
        yield Event("Normal", "SuccessfulDelete", "Delete", f"Deleted, as no job is on them: {_pods(gone)}.")
    for each in problems[:_NAMED]:
        yield Event("Warning", each.reason, "Sync", each.message)


def _pods(names: Sequence[str]) -> str:
    more = [f"{len(names) - _NAMED} more"] if len(names) > _NAMED else []
    return ", ".join([*names[:_NAMED], *more])
