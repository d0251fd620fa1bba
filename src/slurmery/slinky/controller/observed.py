"""What a decision about a Controller looks at."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from slurmery.api.slinky import Accounting, NodeSet
from slurmery.doors.conditions import Rollout


@dataclass(frozen=True)
class SlurmctldPod:
    """A slurmctld pod; `active` is whether it carries the label that leads clients to it."""

    name: str
    ready: bool
    active: bool


@dataclass(frozen=True)
class Observed:
    """The world around a Controller, in its namespace.

    `config_maps` are those that the spec names, as far as they exist: file name to content. Of a key there
    is a hash, and of the one that signs tokens the key itself, kept out of every repr; None if the Secret or
    the key in it does not exist. `claim_modes` are the access modes of
    persistence.existingClaim, None if there is no such claim. `slurm_conf` is what is in force, "" at first.

    From Slurm: `job_partitions` are named by its job records, None unless Slurm has just told; `answering`
    are the slurmctld hosts that answered the last ping, in the order of slurm.conf, empty if unknown; `busy`
    are the nodes with jobs, None if unknown. `key_in_force` is the hash of the slurm.key that slurmctld was
    last started with, None if it never was. `arriving` says that the Controller is so new that what belongs
    to it may still be on its way.
    """

    slurm_key_hash: str | None = None
    jwt_key_hash: str | None = None
    jwt_key: bytes | None = field(default=None, repr=False)
    config_maps: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    accounting: Accounting | None = None
    nodesets: tuple[NodeSet, ...] = ()
    claim_modes: frozenset[str] | None = None
    slurm_conf: str = ""
    rollout: Rollout | None = None
    pods: tuple[SlurmctldPod, ...] = ()
    job_partitions: frozenset[str] | None = None
    answering: tuple[str, ...] = ()
    key_in_force: str | None = None
    busy: tuple[str, ...] | None = None
    arriving: bool = False
