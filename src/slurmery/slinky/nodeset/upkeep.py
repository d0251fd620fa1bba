"""What a NodeSet keeps in order in Slurm beside its drains: the reservation of its scheduled updates."""

from collections.abc import Awaitable
from dataclasses import dataclass, field
from typing import Final, Protocol

from slurmery.api.slinky import NodeSet
from slurmery.doors.conditions import Event, Problem
from slurmery.slinky import names
from slurmery.slinky.nodeset import marks
from slurmery.slinky.nodeset.gather import Gathered
from slurmery.slinky.nodeset.refusals import Refusals
from slurmery.slinky.nodeset.reservation import Seen, Steps, event, requested
from slurmery.slinky.nodeset.reservation import decide as decide_reservation
from slurmery.slinky.nodeset.status import Standing
from slurmery.slinky.nodeset.words import Told
from slurmery.slurm.errors import DeadlineError, NotFoundError, SlurmError, UnreachableError
from slurmery.slurm.requests import ReservationRequest
from slurmery.slurm.snapshot import NEVER

_RESERVATIONS_FRESH: Final = 60.0
_UNRESERVED: Final = "ReservationFailed"


class Slurm(Protocol):
    """What is needed of the client."""

    def reserve(self, reservation: ReservationRequest) -> Awaitable[None]: ...
    def delete_reservation(self, name: str) -> Awaitable[None]: ...


@dataclass(frozen=True)
class Upkeep:
    """What to do now; an empty one is nothing."""

    reservation: Steps = field(default_factory=Steps)


def decide(nodeset: NodeSet, seen: Gathered, standing: Standing) -> Upkeep:
    """From all that is known."""
    return Upkeep(reservation=_reservation(nodeset, seen, standing))


def _reservation(nodeset: NodeSet, seen: Gathered, standing: Standing) -> Steps:
    if seen.observed is None or marks.forced(nodeset.metadata.annotations):
        return Steps()  # nobody is left to ask, or a person will not wait for the answer
    slurm, name = seen.slurm, names.reservation(nodeset.metadata.name)
    listed = slurm.snapshot.reservations
    news = listed.taken_at > slurm.told.get(name, NEVER) and listed.fresh(slurm.clock, _RESERVATIONS_FRESH)
    nodes = frozenset(each.slurm_name for each in standing.workers if each.slurm)
    found = Seen(listed.get(name), slurm.snapshot.nodes.keys(), seen.now) if news else None
    return decide_reservation(nodeset, nodes, requested(nodeset, standing.desired), found)


class Keeper:
    """Carries out what upkeep there is in one cluster."""

    def __init__(self) -> None:
        self.told = Told()
        self._refusals = Refusals()

    async def keep(self, slurm: Slurm, nodeset: NodeSet, upkeep: Upkeep) -> tuple[list[Problem], list[Event]]:
        """One pass; the answer is what could not be done, and what was."""
        steps = upkeep.reservation
        if not steps.remove and steps.request is None:
            return [*steps.problems], []
        refused = await self._reserve(slurm, names.reservation(nodeset.metadata.name), steps)
        return [*steps.problems, *refused], [] if refused else [event(steps)]

    async def _reserve(self, slurm: Slurm, name: str, steps: Steps) -> list[Problem]:
        """Remove and make the reservation; what was refused is not asked for again at once."""
        asked = (name, steps.remove, steps.request)
        if known := self._refusals.recall(asked):
            return [known]
        try:
            if steps.remove:
                await self._remove(slurm, name)
            if steps.request:
                await slurm.reserve(steps.request)
        except SlurmError as error:
            problem = Problem(_UNRESERVED, f"Reservation {name} is not as it should be: {error}.")
            if not isinstance(error, UnreachableError | DeadlineError):
                self._refusals.note(asked, problem)
            return [problem]
        finally:
            self.told.note(name)
        return []

    async def _remove(self, slurm: Slurm, name: str) -> None:
        try:
            await slurm.delete_reservation(name)
        except NotFoundError:
            return
