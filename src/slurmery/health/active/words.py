"""What the end of a job leads to, told to Slurm: drains, comments and reservations of its nodes."""

from collections.abc import Set
from datetime import UTC, datetime
from typing import Final

from slurmery.api.nebius.activecheck import ActiveCheckSpec
from slurmery.health.active import reactions
from slurmery.health.active.reactions import Word
from slurmery.health.active.slurm import Way
from slurmery.kube.logs import logger
from slurmery.slurm.errors import RejectedError
from slurmery.slurm.model import Job, Number
from slurmery.slurm.requests import NodeUpdate, ReservationRequest

log = logger("activecheck")

_ALL_YEAR_MINUTES: Final = 365 * 24 * 60


async def say(way: Way, job: Job, word: Word, reservations: Set[str]) -> None:
    """Tell Slurm what a job says about its nodes; `reservations` are those that there are."""
    for node in job.node_names if any(word) else ():
        if word.drain or word.comment:
            await _mark(way, node, word)
        if word.reserve or word.release:
            await _keep(way, node, word, reservations)


async def known_reservations(way: Way, spec: ActiveCheckSpec) -> Set[str]:
    """Slurm's reservations by name, if the check has to do with any; nodes tell of theirs seconds later."""
    listing = await way.root.reservations() if reactions.reserves(spec) else None
    return {one.name for one in listing.items} if listing else set()


async def _mark(way: Way, name: str, word: Word) -> None:
    node = await way.root.node(name)
    if word.comment and node.comment != word.comment:
        await way.root.update_node(name, NodeUpdate(comment=word.comment))
    # A node that is drained already keeps its reason: it may be an administrator's.
    if word.drain and not node.has_drain:
        await way.root.update_node(name, NodeUpdate(state=("DRAIN",), reason=word.drain))


async def _keep(way: Way, node: str, word: Word, there: Set[str]) -> None:
    """Reserve a node or give it back. Slurm refuses where another reservation has it or a job is in ours."""
    reserved, released = (reactions.reservation(prefix, node) for prefix in (word.reserve, word.release))
    try:
        if word.reserve and reserved not in there:
            await way.root.reserve(_reservation(reserved, node, way.user))
        if word.release and released in there:
            await way.root.delete_reservation(released)
    except RejectedError as error:
        log.warning("Reservation refused", node=node, error=str(error))


def _reservation(name: str, node: str, user: str) -> ReservationRequest:
    """It begins now, whatever runs there, and lasts until it is removed."""
    return ReservationRequest(
        name=name,
        start_time=Number(number=int(datetime.now(UTC).timestamp())),
        duration=Number(number=_ALL_YEAR_MINUTES),
        node_list=(node,),
        users=tuple(sorted({"root", user})),
        flags=("IGNORE_JOBS", "SPEC_NODES"),
    )
