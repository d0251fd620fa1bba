"""Doing what upkeep there is in Slurm. What it refused is asked for again only later, but stays on record."""

from collections.abc import Awaitable, Hashable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from typing import Final, Protocol

from slurmery.api.slinky import NodeSet
from slurmery.doors.conditions import Event, Problem
from slurmery.doors.errands import UNANSWERED, Errand, run
from slurmery.doors.words import Told
from slurmery.slinky import names
from slurmery.slinky.nodeset.refusals import Refusals
from slurmery.slinky.nodeset.reservation import Steps, event
from slurmery.slinky.nodeset.upkeep import Upkeep
from slurmery.slurm.errors import NotFoundError
from slurmery.slurm.requests import NodeUpdate, ReservationRequest

_FEW: Final = 3
_FAILED: Final = "SlurmUpdateFailed"

# What is asked for, how, and what to tell of it once it is done.
_Task = tuple[Hashable, Errand, Event | None]


class Slurm(Protocol):
    """What is needed of the client."""

    def update_node(self, name: str, update: NodeUpdate) -> Awaitable[None]: ...
    def delete_node(self, name: str) -> Awaitable[None]: ...
    def reserve(self, reservation: ReservationRequest) -> Awaitable[None]: ...
    def delete_reservation(self, name: str) -> Awaitable[None]: ...


class Keeper:
    """Of one cluster."""

    def __init__(self) -> None:
        self.told = Told()
        self._refusals = Refusals()

    async def keep(self, slurm: Slurm, nodeset: NodeSet, upkeep: Upkeep) -> tuple[list[Problem], list[Event]]:
        """One pass; the answer is what could not be done, and what to tell of what was."""
        problems, due = [*upkeep.problems], list[_Task]()
        for task in _tasks(slurm, names.reservation(nodeset.metadata.name), upkeep):
            if known := self._refusals.recall(task[0]):
                problems.append(known)
            elif task[1].about not in upkeep.unsure:
                due.append(task)
        tasks = {id(errand): (asked, done) for asked, errand, done in due}
        events: list[Event] = []
        for errand, error in await run([errand for _, errand, _ in due]):
            asked, done = tasks[id(errand)]
            if error is None or isinstance(error, UNANSWERED):
                self.told.note(errand.about)
            if error is None:
                events += [done] if done else []
            elif not isinstance(error, NotFoundError):  # what is gone needs no change
                problems.append(Problem(_FAILED, f"Slurm could not be told about {errand.about}: {error}."))
                if not isinstance(error, UNANSWERED):
                    self._refusals.note(asked, problems[-1])
        return _few(problems), events


def _tasks(slurm: Slurm, reservation: str, upkeep: Upkeep) -> Iterator[_Task]:
    for name, update in upkeep.words:
        yield (name, update), Errand(name, partial(slurm.update_node, name, update)), None
    for name in upkeep.ghosts:
        yield name, Errand(name, partial(slurm.delete_node, name)), _pruned(name)
    steps = upkeep.reservation
    if steps.remove or steps.request:
        work = partial(_reserve, slurm, reservation, steps)
        yield (reservation, steps.remove, steps.request), Errand(reservation, work), event(steps)


async def _reserve(slurm: Slurm, name: str, steps: Steps) -> None:
    if steps.remove:
        with suppress(NotFoundError):
            await slurm.delete_reservation(name)
    if steps.request:
        await slurm.reserve(steps.request)


def _pruned(name: str) -> Event:
    note = f"Slurm's record of node {name} was deleted: its Kubernetes node is gone."
    return Event("Normal", "DefunctSlurmNodePruned", "Prune", note)


def _few(problems: Sequence[Problem]) -> list[Problem]:
    """In the order of their sentences, so that a condition does not change with the order of answers."""
    told = sorted(problems, key=lambda each: each.message)
    more = len(told) - _FEW
    return [*told[:_FEW], *([Problem(_FAILED, f"And so for {more} more.")] if more > 0 else [])]
