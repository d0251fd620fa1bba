"""What a decision about a RestApi looks at."""

from dataclasses import dataclass

from slurmery.api.slinky import Controller
from slurmery.doors.conditions import Rollout


@dataclass(frozen=True)
class Observed:
    """The world around a RestApi, in its namespace; a hash is None if what it is of does not exist."""

    controller: Controller | None = None
    slurm_conf_hash: str | None = None
    slurm_key_hash: str | None = None
    rollout: Rollout | None = None
