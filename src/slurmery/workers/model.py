"""What the engine looks at and what it answers.

A worker is a pod that runs slurmd. Its life, as far as we end it:

      running ──chosen──► leaving ──drain──► draining ──jobs end──► drained ──► deleted
         ▲                   │                  │
         └────── released ───┴──────────────────┘   (the reason to leave is gone: undrained, then unmarked)

The mark `leaving` is written on the pod before anything else happens to it and removed after all else is
undone, so that a restarted operator goes on with the same workers instead of draining others.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from slurmery.slurm.model import Node

Slot = int | str
"""What a worker fills: an ordinal, or the name of a Kubernetes node."""


class Cause(StrEnum):
    """Why a worker has to leave. Earlier ones win."""

    DELETION = "deletion"
    SCALE_IN = "scale-in"
    DUPLICATE = "duplicate"
    MISPLACED = "misplaced"
    UPDATE = "update"


@dataclass(frozen=True)
class Worker:
    """A worker as observed: its pod, its Kubernetes node, and what Slurm says of it."""

    pod: str
    slurm_name: str
    slot: Slot
    revision: str = ""
    host: str = ""
    """The Kubernetes node; empty while the pod is not scheduled."""
    phase: str = "Running"
    ready: bool = True
    available: bool = True
    """Ready for as long as the user wants to see before it counts."""
    ready_since: float = 0.0
    created: float = 0.0
    terminating: bool = False
    leaving: Cause | None = None
    """The mark that an earlier pass has set."""
    cordoned: bool = False
    """A person asked for the worker to be drained."""
    host_reason: str | None = None
    """The Kubernetes node is cordoned, with this explanation; None if it is not."""
    deletion_cost: int = 0
    deadline: float | None = None
    """When the last of its jobs must have ended."""
    forced: bool = False
    """A person said that its jobs do not matter."""
    registered_once: bool = False
    """Slurm has known the worker during the life of this pod."""
    fresh: bool = True
    """Slurm's word on this node is recent, and newer than anything we have told Slurm about it."""
    slurm: Node | None = None
    """What Slurm said; None when it answered that it does not know the node."""

    @property
    def healthy(self) -> bool:
        return self.phase == "Running" and self.ready and not self.terminating

    @property
    def ended(self) -> bool:
        return self.phase in ("Failed", "Succeeded")


@dataclass(frozen=True)
class Drain:
    """Tell Slurm to start nothing new on a node."""

    slurm_name: str
    reason: str
    """Empty where the node has a reason of another's, which is to stay."""


@dataclass(frozen=True)
class Deletion:
    """A pod that may go now, and the sentence that says why."""

    pod: str
    why: str


@dataclass(frozen=True)
class Wait:
    """A worker that must leave but may not yet, and the sentence that says why."""

    pod: str
    why: str


@dataclass(frozen=True)
class Plan:
    """What to do now, top to bottom. Doing a part of it and planning again ends in the same state."""

    unmark: tuple[str, ...] = ()
    undrain: tuple[str, ...] = ()
    mark: Mapping[str, Cause] = field(default_factory=dict)
    drain: tuple[Drain, ...] = ()
    delete: tuple[Deletion, ...] = ()
    create: tuple[Slot, ...] = ()
    waits: tuple[Wait, ...] = ()
