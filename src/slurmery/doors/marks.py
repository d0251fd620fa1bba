"""Notes on pods and their owners that the workers of both doors have, as annotations.

slurmery/leaving: scale-in      ours: the worker was chosen to leave
slurmery/force-delete: "true"   a person's, on a pod or its owner: its jobs do not matter
"""

from collections.abc import Mapping
from typing import Final

from slurmery.workers.model import Cause

# What the reasons of our drains begin with.
REASON_PREFIX: Final = "slurm-operator: "
LEAVING: Final = "slurmery/leaving"
FORCE: Final = "slurmery/force-delete"

Notes = Mapping[str, str]

# What Go takes for true: upstream's parts do not agree among themselves on less.
TRUE: Final = frozenset({"1", "t", "T", "true", "TRUE", "True"})


def leaving(notes: Notes) -> Cause | None:
    """Why an earlier pass has chosen the worker to leave."""
    value = notes.get(LEAVING)
    return Cause(value) if value in set(Cause) else None


def forced(*owners: Notes) -> bool:
    """Whether a person said, on any of them, that jobs do not matter."""
    return any(notes.get(FORCE) in TRUE for notes in owners)
