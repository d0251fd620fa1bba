"""What a decision about a LoginSet looks at."""

from dataclasses import dataclass

from slurmery.api.slinky import Controller
from slurmery.doors.conditions import Rollout


@dataclass(frozen=True)
class Observed:
    """The world around a LoginSet, in its namespace; a hash is None if what it is of does not exist.

    `domain` is that of the Kubernetes cluster's DNS.
    """

    controller: Controller | None = None
    slurm_key_hash: str | None = None
    sssd_conf_hash: str | None = None
    host_keys_hash: str | None = None
    rollout: Rollout | None = None
    domain: str = "cluster.local"
