"""What a NodeSet keeps in order beside the lives of its workers.

in Slurm      the reservation of scheduled updates, the records of its nodes, and none of nodes that are gone
on its pods   annotations for others to read
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from slurmery.api.slinky import NodeSet
from slurmery.doors.conditions import Problem
from slurmery.doors.marks import forced
from slurmery.doors.words import Word
from slurmery.slinky import names
from slurmery.slinky.nodeset import ghosts, notes, records
from slurmery.slinky.nodeset.gather import Gathered
from slurmery.slinky.nodeset.reservation import Seen, Steps, requested
from slurmery.slinky.nodeset.reservation import decide as decide_reservation
from slurmery.slinky.nodeset.status import Standing
from slurmery.slurm.errors import GarbledError
from slurmery.slurm.snapshot import NEVER

_RESERVATIONS_FRESH: Final = 60.0


@dataclass(frozen=True)
class Upkeep:
    """What to do now; an empty one is nothing. `notes` are by pod.

    Nothing is said of the nodes that are `unsure`: what Slurm told of them may be old.
    """

    reservation: Steps = field(default_factory=Steps)
    words: tuple[Word, ...] = ()
    unsure: frozenset[str] = frozenset()
    ghosts: tuple[str, ...] = ()
    notes: Mapping[str, Mapping[str, str | None]] = field(default_factory=dict)
    problems: tuple[Problem, ...] = ()


def decide(nodeset: NodeSet, seen: Gathered, standing: Standing) -> Upkeep:
    """From all that is known."""
    written = {
        each.pod: notes.notes(each, seen.pods[each.pod], seen.hosts.get(each.host), seen.slurm)
        for each in standing.workers
    }
    steps = _reservation(nodeset, seen, standing)
    return Upkeep(
        reservation=steps,
        words=records.words(nodeset, standing.workers, seen.hosts),
        unsure=frozenset(each.slurm_name for each in standing.workers if not each.fresh),
        ghosts=ghosts.found(nodeset, seen.slurm, seen.pods, seen.hosts),
        notes={pod: changed for pod, changed in written.items() if changed},
        problems=(*steps.problems, *records.problems(standing.workers, seen.hosts)),
    )


def _reservation(nodeset: NodeSet, seen: Gathered, standing: Standing) -> Steps:
    given_up = nodeset.metadata.deletion_timestamp and forced(nodeset.metadata.annotations)
    if seen.observed is None or given_up:
        return Steps()  # nobody is left to ask, or a person will not wait for the answer
    slurm, name = seen.slurm, names.reservation(nodeset.metadata.name)
    listed = slurm.snapshot.reservations
    news = listed.taken_at > slurm.told.get(name, NEVER) and listed.fresh(slurm.clock, _RESERVATIONS_FRESH)
    nodes = frozenset(each.slurm_name for each in standing.workers if each.slurm)
    found = Seen(listed.get(name), slurm.snapshot.nodes.keys(), seen.now) if news else None
    wanted = requested(nodeset, standing.desired)
    try:
        return decide_reservation(nodeset, nodes, wanted, found)
    except GarbledError:
        return decide_reservation(nodeset, nodes, wanted, None)
