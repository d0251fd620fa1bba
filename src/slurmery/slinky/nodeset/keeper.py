"""Doing what upkeep there is: a call to Slurm for each thing, several at once, none waited for long."""

import asyncio
from collections.abc import Awaitable, Callable, Hashable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Final, Protocol

from slurmery.api.slinky import NodeSet
from slurmery.doors.conditions import Event, Problem
from slurmery.slinky import names
from slurmery.slinky.nodeset.refusals import Refusals
from slurmery.slinky.nodeset.reservation import Steps, event
from slurmery.slinky.nodeset.upkeep import Upkeep
from slurmery.slinky.nodeset.words import Told
from slurmery.slurm.errors import DeadlineError, NotFoundError, SlurmError, UnreachableError
from slurmery.slurm.requests import NodeUpdate, ReservationRequest

# All calls of one pass together: a reconcile does not wait for a Slurm that hangs.
_PATIENCE: Final = 5.0
_AT_ONCE: Final = 8
_TOLD: Final = 3


class Slurm(Protocol):
    """What is needed of the client."""

    def update_node(self, name: str, update: NodeUpdate) -> Awaitable[None]: ...
    def delete_node(self, name: str) -> Awaitable[None]: ...
    def reserve(self, reservation: ReservationRequest) -> Awaitable[None]: ...
    def delete_reservation(self, name: str) -> Awaitable[None]: ...


@dataclass(frozen=True)
class _Task:
    """One change: `asked` tells it from others, `name` is what it is about."""

    asked: Hashable
    name: str
    work: Callable[[], Awaitable[None]]
    event: Event | None = None


class Keeper:
    """Does what upkeep there is in one cluster. What Slurm refused is not asked for again at once."""

    def __init__(self) -> None:
        self.told = Told()
        self._refusals = Refusals()

    async def keep(self, slurm: Slurm, nodeset: NodeSet, upkeep: Upkeep) -> tuple[list[Problem], list[Event]]:
        """One pass; the answer is what could not be done, and what to tell of what was."""
        tasks = [*_tasks(slurm, names.reservation(nodeset.metadata.name), upkeep)]
        problems = [known for each in tasks if (known := self._refusals.recall(each.asked))]
        sure = [each for each in reversed(tasks) if each.name not in upkeep.unsure]
        waiting = [each for each in sure if not self._refusals.recall(each.asked)]
        events: list[Event] = []

        async def work() -> None:
            while waiting:
                task = waiting.pop()
                try:
                    await task.work()
                    events.extend([task.event] if task.event else [])
                    self.told.note(task.name)
                except NotFoundError:
                    continue  # what is gone needs no change
                except (UnreachableError, DeadlineError) as error:
                    waiting.clear()
                    problems.append(_problem(task, error))
                    self.told.note(task.name)  # it may have taken effect
                except SlurmError as error:
                    problems.append(_problem(task, error))
                    self._refusals.note(task.asked, problems[-1])

        try:
            async with asyncio.timeout(_PATIENCE), asyncio.TaskGroup() as workers:
                for _ in range(min(_AT_ONCE, len(waiting))):
                    workers.create_task(work())
        except TimeoutError:
            problems.append(Problem("SlurmUpdateFailed", "Slurm takes too long to answer."))
        return _few([*upkeep.problems, *problems]), events


def _tasks(slurm: Slurm, reservation: str, upkeep: Upkeep) -> Iterator[_Task]:
    for name, update in upkeep.words:
        yield _Task((name, update), name, partial(slurm.update_node, name, update))
    for name in upkeep.ghosts:
        yield _Task(name, name, partial(slurm.delete_node, name), _pruned(name))
    steps = upkeep.reservation
    if steps.remove or steps.request:
        asked = (reservation, steps.remove, steps.request)
        yield _Task(asked, reservation, partial(_reserve, slurm, reservation, steps), event(steps))


async def _reserve(slurm: Slurm, name: str, steps: Steps) -> None:
    if steps.remove:
        with suppress(NotFoundError):
            await slurm.delete_reservation(name)
    if steps.request:
        await slurm.reserve(steps.request)


def _pruned(name: str) -> Event:
    note = f"Slurm's record of node {name} was deleted: its Kubernetes node is gone."
    return Event("Normal", "DefunctSlurmNodePruned", "Prune", note)


def _problem(task: _Task, error: SlurmError) -> Problem:
    return Problem("SlurmUpdateFailed", f"Slurm could not be told about {task.name}: {error}.")


def _few(problems: Sequence[Problem]) -> list[Problem]:
    """In the order of their sentences, so that a condition does not change with the order of answers."""
    told = sorted(problems, key=lambda each: each.message)
    more = len(told) - _TOLD
    rest = [Problem("SlurmUpdateFailed", f"And so for {more} more.")] if more > 0 else []
    return [*told[:_TOLD], *rest]
