"""What health checks tell Slurm about nodes.

Slurm overwrites a reason without asking, and the list that we decide by is some seconds old. So each node is
looked at once more right before it is spoken of: what somebody else wrote meanwhile stays.
"""

from collections.abc import Iterable
from functools import partial
from typing import Final, NamedTuple

from slurmery.doors.conditions import Problem
from slurmery.doors.errands import Errand, run
from slurmery.doors.words import Slurm, Told
from slurmery.slurm.model import Node
from slurmery.slurm.requests import NodeUpdate

# What slurmctld itself writes about nodes that it has lost, and what is left of a drain by a check that was
# undone (Slurm 24.11 keeps the reason): nobody's word.
_NOBODYS: Final = (
    *("Not responding", "Node unexpectedly rebooted", "Kill task failed"),
    *("[node_problem]", "[node_condition]", "[user_problem]", "[hardware_problem]", "[compute_maintenance]"),
)


class Drain(NamedTuple):
    """Let no new job come to a node; what runs goes on."""

    node: str
    reason: str


class Resume(NamedTuple):
    """Undo the drain that has this reason."""

    node: str
    reason: str


Word = Drain | Resume


def update(word: Word, node: Node) -> NodeUpdate | None:
    """What to say to the node as it is now; None if there is nothing left to say."""
    if isinstance(word, Resume):
        ours = node.has_drain and node.reason == word.reason
        return NodeUpdate(state=("UNDRAIN",)) if ours else None
    if node.has_drain:
        return None
    if node.reason and not node.reason.startswith(_NOBODYS):
        return NodeUpdate(state=("DRAIN",))
    return NodeUpdate(state=("DRAIN",), reason=word.reason)


async def tell(slurm: Slurm, told: Told, said: Iterable[Word]) -> list[Problem]:
    """Say all of it, as far as Slurm listens. What was not said is said next time."""
    ran = await run([Errand(word.node, partial(_say, slurm, word)) for word in said])
    for errand, _ in ran:
        told.note(errand.about)  # also after an error: it may have taken effect
    return [
        Problem("SlurmUpdateFailed", f"Slurm could not be told about node {errand.about}: {error}.")
        for errand, error in ran
        if error
    ]


async def _say(slurm: Slurm, word: Word) -> None:
    if now := update(word, await slurm.node(word.node)):
        await slurm.update_node(word.node, now)
