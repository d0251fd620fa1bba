"""Calls to Slurm: several at once, and none waited for long.

One that Slurm refuses holds up no other. One that nobody answers ends them all for now: a reconcile does not
wait for a Slurm that hangs. What was not done is decided anew in a later pass.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Final

from slurmery.slurm.errors import DeadlineError, SlurmError, UnreachableError

_PATIENCE: Final = 5.0
_AT_ONCE: Final = 8

# After these, nobody knows whether the call has taken effect.
UNANSWERED: Final = (UnreachableError, DeadlineError)


@dataclass(frozen=True)
class Errand:
    """One call, and the node or reservation that it is about."""

    about: str
    work: Callable[[], Awaitable[None]]


Ran = tuple[Errand, SlurmError | None]


async def run(errands: Sequence[Errand]) -> list[Ran]:
    """Those that were begun, with what went wrong."""
    waiting, ran = list(reversed(errands)), list[Ran]()

    async def work() -> None:
        while waiting:
            errand = waiting.pop()
            try:
                await errand.work()
                ran.append((errand, None))
            except SlurmError as error:
                ran.append((errand, error))
                if isinstance(error, UNANSWERED):
                    waiting.clear()
            except asyncio.CancelledError:
                ran.append((errand, DeadlineError("Slurm takes too long to answer")))
                raise

    try:
        async with asyncio.timeout(_PATIENCE), asyncio.TaskGroup() as workers:
            for _ in range(min(_AT_ONCE, len(errands))):
                workers.create_task(work())
    except TimeoutError:
        waiting.clear()
    return ran
