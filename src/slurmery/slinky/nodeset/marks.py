"""Notes that we and others leave on NodeSets and their pods as annotations, beside those of both doors.

slurmery/leaving: scale-in          ours: the worker was chosen to leave; beside it upstream's pod-cordon
slurmery/cordoned-before: "true"    ours: pod-cordon was there before the mark, and stays when it goes
"""

from typing import Final

from slurmery.doors.marks import LEAVING, TRUE, Notes
from slurmery.slinky import names
from slurmery.workers.model import Cause

CORDONED_BEFORE: Final = "slurmery/cordoned-before"
# Holds a NodeSet until its workers are drained and gone.
FINALIZER: Final = "slurmery/drain"


def cordoned(notes: Notes) -> bool:
    """Whether somebody beside us wants the worker drained."""
    ours = LEAVING in notes and CORDONED_BEFORE not in notes
    return notes.get(names.POD_CORDON) in TRUE and not ours


def mark(notes: Notes, cause: Cause) -> dict[str, str | None]:
    """The annotations that mark a worker."""
    before = {CORDONED_BEFORE: "true"} if cordoned(notes) else {}
    return {LEAVING: cause.value, names.POD_CORDON: "true", **before}


def unmark(notes: Notes) -> dict[str, str | None]:
    """The annotations that take the mark away, and leave a cordon that is not ours."""
    kept = {} if cordoned(notes) else {names.POD_CORDON: None}
    return {LEAVING: None, CORDONED_BEFORE: None, **kept}
