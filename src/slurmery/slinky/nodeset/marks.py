"""Notes that we and others leave on NodeSets and pods as annotations.

slurmery/leaving: scale-in          ours: the worker was chosen to leave; beside it upstream's pod-cordon
slurmery/cordoned-before: "true"    ours: pod-cordon was there before the mark, and stays when it goes
slurmery/force-delete: "true"       a person's, on a pod or a NodeSet: its jobs do not matter
"""

from collections.abc import Mapping
from typing import Final

from slurmery.slinky import names
from slurmery.workers.model import Cause

LEAVING: Final = "slurmery/leaving"
CORDONED_BEFORE: Final = "slurmery/cordoned-before"
FORCE: Final = "slurmery/force-delete"
# Holds a NodeSet until its workers are drained and gone.
FINALIZER: Final = "slurmery/drain"

Notes = Mapping[str, str]

# What Go takes for true: upstream's parts do not agree among themselves on less.
_TRUE: Final = frozenset({"1", "t", "T", "true", "TRUE", "True"})


def leaving(notes: Notes) -> Cause | None:
    """Why an earlier pass has chosen the worker to leave."""
    value = notes.get(LEAVING)
    return Cause(value) if value in set(Cause) else None


def cordoned(notes: Notes) -> bool:
    """Whether somebody beside us wants the worker drained."""
    ours = LEAVING in notes and CORDONED_BEFORE not in notes
    return notes.get(names.POD_CORDON) in _TRUE and not ours


def forced(*owners: Notes) -> bool:
    """Whether a person said, on any of them, that jobs do not matter."""
    return any(notes.get(FORCE) in _TRUE for notes in owners)


def mark(notes: Notes, cause: Cause) -> dict[str, str | None]:
    """The annotations that mark a worker."""
    before = {CORDONED_BEFORE: "true"} if cordoned(notes) else {}
    return {LEAVING: cause.value, names.POD_CORDON: "true", **before}


def unmark(notes: Notes) -> dict[str, str | None]:
    """The annotations that take the mark away, and leave a cordon that is not ours."""
    kept = {} if cordoned(notes) else {names.POD_CORDON: None}
    return {LEAVING: None, CORDONED_BEFORE: None, **kept}
