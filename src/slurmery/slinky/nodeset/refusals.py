"""What Slurm would not have. It is asked again only after a while, and what it said stays on record."""

import asyncio
from collections.abc import Hashable
from typing import Final

from slurmery.doors.conditions import Problem

_PAUSE: Final = 300.0


class Refusals:
    """By what was asked for, on the loop's clock."""

    def __init__(self) -> None:
        self._known: dict[Hashable, tuple[float, Problem]] = {}

    def note(self, asked: Hashable, problem: Problem) -> None:
        now = asyncio.get_running_loop().time()
        self._known = {key: each for key, each in self._known.items() if now - each[0] < _PAUSE}
        self._known[asked] = (now, problem)

    def recall(self, asked: Hashable) -> Problem | None:
        """Why it was refused a while ago; None if it may be asked for."""
        when, problem = self._known.get(asked, (0.0, None))
        return problem if asyncio.get_running_loop().time() - when < _PAUSE else None
