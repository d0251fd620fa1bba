"""Having Slurm read its configuration again, in steps that never wait: each look says what is still missing.

written ──settle──► asked (scontrol reconfigure) ──every slurmd started anew──► done
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final

from slurmery.slurm.client import SlurmClient
from slurmery.slurm.model import Node

# slurmd starts itself anew to read its configuration; of these it cannot be expected now.
_AWAY: Final = frozenset(
    {"NOT_RESPONDING", "POWERING_DOWN", "POWERED_DOWN", "POWERING_UP", "DOWN", "UNKNOWN"}
)
_MOST_NAMED: Final = 5


class Step(Enum):
    """How far it is."""

    SETTLING = "settling"
    UNDER_WAY = "under way"
    DONE = "done"
    LATE = "late"


@dataclass(frozen=True)
class Progress:
    """How far it is, when to look again, and a sentence for people."""

    step: Step
    again: float | None
    words: str


@dataclass(frozen=True)
class Pace:
    """`settle` is the time that file systems may take to show a new file on all nodes."""

    settle: float
    poll: float
    limit: float


class Reconfiguration:
    """One reconfiguration of one Slurm cluster, from the moment its files were written."""

    def __init__(self, slurm: SlurmClient, pace: Pace, now: float) -> None:
        self._slurm = slurm
        self._pace = pace
        self._written = now
        self._asked: float | None = None
        self._before: Mapping[str, int] = {}

    def rewritten(self, now: float) -> None:
        """More files were written: Slurm must read those as well."""
        self._written = now
        self._asked = None

    async def look(self, now: float) -> Progress:
        """Do the next step if it is time. Raises SlurmError."""
        left = self._written + self._pace.settle - now
        if left > 0:
            return Progress(Step.SETTLING, left, "The files are written; Slurm will be told in a moment.")
        if self._asked is None:
            self._before = _starts(await self._nodes())
            await self._slurm.reconfigure()
            self._asked = now
        nodes = await self._nodes()
        missing = pending(self._before, nodes)
        late = now - self._asked > self._pace.limit
        # Asked, all nodes are silent for a moment; one that stays so reads it on its return.
        if not missing or (late and missing <= away(nodes)):
            return Progress(Step.DONE, None, f"{len(self._before)} nodes have read the configuration.")
        names = ", ".join(sorted(missing)[:_MOST_NAMED]) + (
            " and others" if len(missing) > _MOST_NAMED else ""
        )
        words = f"{len(missing)} of {len(self._before)} nodes have not read the configuration yet: {names}."
        if late:
            return Progress(Step.LATE, None, words)
        return Progress(Step.UNDER_WAY, self._pace.poll, words)

    async def _nodes(self) -> Sequence[Node]:
        listed = await self._slurm.nodes()
        return listed.items if listed else ()


def _starts(nodes: Sequence[Node]) -> dict[str, int]:
    """When each slurmd that can be expected to answer was started."""
    silent = away(nodes)
    return {node.name: node.slurmd_start_time or 0 for node in nodes if node.name not in silent}


def away(nodes: Iterable[Node]) -> set[str]:
    """The nodes that cannot be expected to answer now."""
    return {node.name for node in nodes if not _AWAY.isdisjoint(node.state)}


def pending(before: Mapping[str, int], nodes: Iterable[Node]) -> set[str]:
    """Which of the slurmds are still those from before. A node that left needs no configuration."""
    return {node.name for node in nodes if (node.slurmd_start_time or 0) <= before.get(node.name, -1)}
