"""What a decision about one Kubernetes node looks at, and what it answers."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from slurmery.health.ref import Ref
from slurmery.health.repair import policy as names


@dataclass(frozen=True)
class Condition:
    """A condition of a node; `since` is when its status last changed, in seconds of the epoch."""

    status: str
    reason: str = ""
    message: str = ""
    since: float = 0.0

    @property
    def true(self) -> bool:
        return self.status == "True"


@dataclass(frozen=True)
class Machine:
    """A Kubernetes node."""

    name: str
    created: float
    conditions: Mapping[str, Condition]
    labels: Mapping[str, str]
    cordoned: bool = False

    def shows(self, sign: str) -> Condition | None:
        """The condition that a sign is, while the node has it."""
        kind, status = names.parsed(sign)
        found = self.conditions.get(kind)
        return found if found and found.status == status else None


@dataclass(frozen=True)
class Worker:
    """A Slurm node on it. `known` is whether Slurm told of it a moment ago: unknown is busy.

    `drained` is drained beyond doubt: no job is there, and none can come. `busy` is that jobs hold it.
    """

    cluster: Ref
    name: str
    known: bool
    drains: bool = False
    drained: bool = False
    busy: bool = True
    reason: str = ""
    reason_since: float = 0.0
    placed_since: float = 0.0


class DrainWorker(NamedTuple):
    """Let no new job come; what runs goes on."""

    cluster: Ref
    name: str
    reason: str


class ResumeWorker(NamedTuple):
    """Undo a drain of ours, which has this reason."""

    cluster: Ref
    name: str
    reason: str


class SetCondition(NamedTuple):
    """Patch one condition of the node."""

    type: str
    status: str
    reason: str
    message: str


class DeleteMachine(NamedTuple):
    """Delete the Node object: whoever made the machine makes another."""

    why: str


Action = DrainWorker | ResumeWorker | SetCondition | DeleteMachine


class Half(StrEnum):
    """The halves of the repair, each of which can be switched off: words about Slurm, and taking machines."""

    SLURM = "slurmnodes"
    KUBERNETES = "k8snodes"


def half(action: Action) -> Half:
    """Which half an action belongs to."""
    takes = isinstance(action, SetCondition) and action.type in (names.DRAIN, names.REBOOT)
    return Half.KUBERNETES if takes or isinstance(action, DeleteMachine) else Half.SLURM


@dataclass(frozen=True)
class Verdict:
    """What to do now, what is waited for, in words, and when to look again."""

    actions: tuple[Action, ...] = ()
    waits: str = ""
    again: float | None = None
