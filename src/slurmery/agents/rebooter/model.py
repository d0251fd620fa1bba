"""What a decision about the own node looks at, and the steps that it answers with."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from slurmery.health.repair.model import Condition, SetCondition
from slurmery.kube.meta import Key


@dataclass(frozen=True)
class Own:
    """The node that we run on. `cordoned_by_us` is what we noted on it when we cordoned it."""

    conditions: Mapping[str, Condition]
    unschedulable: bool = False
    cordoned_by_us: bool = False

    def condition(self, kind: str) -> Condition:
        return self.conditions.get(kind, Condition("Unknown"))


@dataclass(frozen=True)
class Guest:
    """A pod on the node. `stays` is one that an eviction would not rid the node of, or that has ended."""

    key: Key
    uid: str
    stays: bool = False
    leaving: bool = False


class Cordon(NamedTuple):
    """Let the scheduler bring no more pods, and note that it was us."""


class Uncordon(NamedTuple):
    """Take our own cordon back."""


class Evict(NamedTuple):
    """Ask a pod to leave, in the way that disruption budgets and PreStop hooks are honoured."""

    key: Key
    uid: str


class Reboot(NamedTuple):
    """Restart the machine."""


Step = Cordon | Uncordon | Evict | SetCondition | Reboot


@dataclass(frozen=True)
class Verdict:
    """Steps in their order, and in how many seconds to look again; None is at the next usual time."""

    steps: tuple[Step, ...] = ()
    again: float | None = None
