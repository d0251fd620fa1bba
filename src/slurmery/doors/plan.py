"""What `decide` answers: the world that should be, and what to say about it."""

from dataclasses import dataclass
from typing import TypeVar

from slurmery.doors.conditions import Condition
from slurmery.kube.desired import Desired
from slurmery.kube.meta import Resource


@dataclass(frozen=True)
class Plan:
    """Objects to apply, what may be pruned beside them, how things stand, and when to look again.

    A resource is in `prune` only if `desired` holds all of its objects that should exist: while something
    is amiss, what runs is left alone.
    """

    desired: tuple[Desired, ...]
    conditions: tuple[Condition, ...]
    prune: tuple[Resource, ...] = ()
    requeue: float | None = None


P = TypeVar("P", bound=Plan)
