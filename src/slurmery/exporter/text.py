"""The Prometheus text format, written straight into strings.

A page has some 140,000 lines at 10,000 nodes, so lines are made with one format operation each and label
text that several families share is made once:

    who = Labels("node_name")
    text = Text(Family("slurm_node_cpus_total", "gauge", "CPUs of the node."))
    text.add(sample(text.name, who(node.name), node.cpus) for node in nodes)
    block = text.block()

Label values may hold anything; what JSON lets through but UTF-8 does not (half a surrogate pair) becomes `?`.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Collection, Iterable, Sequence
from itertools import compress
from typing import Final, Literal, NamedTuple, TypeVar

from slurmery.exporter.page import Block

T = TypeVar("T")

# Rendering holds the interpreter: after so many items others have their turn.
_SLICE: Final = 250
_ESCAPES: Final = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})


class Family(NamedTuple):
    """What one metric is called and means."""

    name: str
    kind: Literal["gauge", "counter", "histogram"]
    help: str


class Labels:
    """Names of labels, to be filled with values: `Labels("a", "b")("x", "y")` is `a="x",b="y"`."""

    def __init__(self, *names: str, omitted: Collection[str] = ()) -> None:
        self._kept = [name not in omitted for name in names]
        self._omits = not all(self._kept)
        self._form = ",".join(f'{name}="%s"' for name in names if name not in omitted)

    def __call__(self, *values: str) -> str:
        if self._omits:
            values = tuple(compress(values, self._kept))
        together = "".join(values)
        if '"' in together or "\\" in together or "\n" in together:
            values = tuple(value.translate(_ESCAPES) for value in values)
        return self._form % values


def joined(*labels: str) -> str:
    """The labels of several Labels as one text."""
    return ",".join(filter(None, labels))


def sample(name: str, labels: str, value: float) -> str:
    """One line; `labels` comes from Labels."""
    return f"{name}{{{labels}}} {value}\n" if labels else f"{name} {value}\n"


class Text:
    """The lines of one family, as they come."""

    def __init__(self, family: Family) -> None:
        self.name = family.name
        self._head = f"# HELP {family.name} {family.help}\n# TYPE {family.name} {family.kind}\n".encode()
        self._pieces: list[bytes] = []
        self._count = 0

    def add(self, lines: Iterable[str]) -> None:
        lines = list(lines)
        self._count += len(lines)
        self._pieces.append("".join(lines).encode(errors="replace"))

    def block(self) -> Block:
        """What was added so far; without any lines, not even the head."""
        return Block(b"".join([self._head, *self._pieces]) if self._count else b"", self._count)


async def slices(items: Sequence[T]) -> AsyncIterator[Sequence[T]]:
    """The items, some at a time, with a chance for others in between."""
    for start in range(0, len(items), _SLICE):
        yield items[start : start + _SLICE]
        await asyncio.sleep(0)
