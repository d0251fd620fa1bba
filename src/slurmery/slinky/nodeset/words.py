"""What we tell Slurm about nodes, and when we last did."""

import asyncio
from collections.abc import Awaitable, Iterable, Mapping
from functools import partial
from typing import Final, Protocol

from slurmery.doors.conditions import Problem
from slurmery.slinky.nodeset.errands import Errand, run
from slurmery.slinky.nodeset.observe import FRESH_SECONDS
from slurmery.slurm.requests import NodeUpdate
from slurmery.workers.model import Plan

_UNTOLD: Final = "SlurmUpdateFailed"

Word = tuple[str, NodeUpdate]


class Slurm(Protocol):
    """Whoever takes our words."""

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
    undrain = [(name, NodeUpdate(state=("UNDRAIN",))) for name in plan.undrain]
    drain = [
        (each.slurm_name, NodeUpdate(state=("DRAIN",), reason=each.reason))
        if each.reason
        else (each.slurm_name, NodeUpdate(state=("DRAIN",)))
        for each in plan.drain
    ]
    return (*undrain, *drain)


async def tell(slurm: Slurm, told: Told, said: Iterable[Word]) -> list[Problem]:
    """Say all of it, as far as Slurm listens. What was not said is said next time."""
    ran = await run([Errand(name, partial(slurm.update_node, name, update)) for name, update in said])
    for errand, _ in ran:
        told.note(errand.about)  # also after an error: it may have taken effect
    return [
        Problem(_UNTOLD, f"Slurm could not be told about node {errand.about}: {error}.")
        for errand, error in ran
        if error
    ]
