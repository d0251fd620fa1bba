"""Waiting longer after each failure, and never in step with others."""

from __future__ import annotations

import random


def jittered(seconds: float) -> float:
    """Between half of the given time and all of it."""
    return seconds * random.uniform(0.5, 1.0)  # noqa: S311


class Backoff:
    """Delays that double from `base` up to `cap`, jittered, until `reset`."""

    def __init__(self, base: float, cap: float) -> None:
        self._base = base
        self._cap = cap
        self._ceiling = base

    def next(self) -> float:
        ceiling, self._ceiling = self._ceiling, min(self._ceiling * 2, self._cap)
        return jittered(ceiling)

    def reset(self) -> None:
        self._ceiling = self._base
