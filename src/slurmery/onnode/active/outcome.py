"""How a trial ended."""

from typing import NamedTuple


class Outcome(NamedTuple):
    """Whether something is wrong, and what was found in words."""

    wrong: bool
    words: str


def judged(speed: float, least: float, unit: str) -> Outcome:
    """A speed is wrong if it is below the least that was asked for."""
    words = f"{speed:.1f} {unit}"
    return (
        Outcome(True, f"{words}, at least {least:g} are wanted") if speed < least else Outcome(False, words)
    )
