"""What we tell Slurm about nodes, and when we last did.

Slurm overwrites a reason without asking, and the list that we decide by is some seconds old. So each node is
looked at once more right before it is spoken of: what an administrator wrote meanwhile stays.
"""

import asyncio
from collections.abc import Awaitable, Iterable, Mapping
from functools import partial
from typing import Final, Protocol

from slurmery.doors.conditions import Problem
from slurmery.doors.errands import Errand, run
from slurmery.doors.hearing import FRESH_SECONDS
from slurmery.doors.marks import REASON_PREFIX
from slurmery.slurm.model import Node
from slurmery.slurm.requests import NodeUpdate
from slurmery.workers.model import Plan

_UNTOLD: Final = "SlurmUpdateFailed"

Word = tuple[str, NodeUpdate]

_UNDRAIN: Final = NodeUpdate(state=("UNDRAIN",))
_DRAIN: Final = NodeUpdate(state=("DRAIN",))


class Slurm(Protocol):
    """Whoever takes our words."""

    def node(self, name: str) -> Awaitable[Node]: ...
    def update_node(self, name: str, update: NodeUpdate) -> Awaitable[None]: ...


class Told:
    """When each node was last spoken of, on the loop's clock. An answer asked for earlier is not news."""

    def __init__(self) -> None:
        self._times: dict[str, float] = {}

    def note(self, name: str) -> None:
        self._times[name] = asyncio.get_running_loop().time()

    def times(self) -> Mapping[str, float]:
        """What is older than any answer that could count is forgotten."""
        horizon = asyncio.get_running_loop().time() - FRESH_SECONDS
        self._times = {name: when for name, when in self._times.items() if when >= horizon}
        return self._times


def words(plan: Plan) -> tuple[Word, ...]:
    """Undrains first: they give back what the drains may need."""
    undrain = [(name, _UNDRAIN) for name in plan.undrain]
    drain = [
        (each.slurm_name, NodeUpdate(state=("DRAIN",), reason=each.reason) if each.reason else _DRAIN)
        for each in plan.drain
    ]
    return (*undrain, *drain)


def still_right(update: NodeUpdate, node: Node) -> NodeUpdate | None:
    """What to say to the node as it is now; None if there is nothing left to say."""
    if update == _UNDRAIN:
        return update if node.drain_owner([REASON_PREFIX]) else None
    if node.has_drain:
        return None
    return _DRAIN if node.reason and not node.reason.startswith(REASON_PREFIX) else update


async def tell(slurm: Slurm, told: Told, said: Iterable[Word]) -> list[Problem]:
    """Say all of it, as far as Slurm listens. What was not said is said next time."""
    ran = await run([Errand(name, partial(_say, slurm, name, update)) for name, update in said])
    for errand, _ in ran:
        told.note(errand.about)  # also after an error: it may have taken effect
    return [
        Problem(_UNTOLD, f"Slurm could not be told about node {errand.about}: {error}.")
        for errand, error in ran
        if error
    ]


async def _say(slurm: Slurm, name: str, update: NodeUpdate) -> None:
    if now := still_right(update, await slurm.node(name)):
        await slurm.update_node(name, now)
