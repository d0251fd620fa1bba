"""What a decision about a SlurmCluster looks at."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum

from slurmery.api.nebius import NodeSet
from slurmery.doors.conditions import Rollout
from slurmery.kube.meta import Resource
from slurmery.kube.resources import STATEFUL_SETS
from slurmery.nebius.crew.decide import Decision


class Filling(Enum):
    """How far a populate-jail Job is."""

    RUNS = "runs"
    SUCCEEDED = "succeeded"
    FAILED = "failed"


@dataclass(frozen=True)
class PopulateJob:
    """The Job that is there now; `overwrites` is whether it replaces what is in the jail."""

    state: Filling
    overwrites: bool
    words: str = ""


@dataclass(frozen=True)
class Fresh:
    """Random values for Secrets that do not exist yet; no others are made."""

    munge_key: bytes = field(default=b"", repr=False)
    jwt_key: bytes = field(default=b"", repr=False)
    host_keys: Mapping[str, bytes] = field(default_factory=dict, repr=False)
    passwords: Mapping[str, str] = field(default_factory=dict, repr=False)


Content = Mapping[str, bytes]


@dataclass(frozen=True)
class Observed:
    """The world around a SlurmCluster.

    `secrets` and `config_maps` hold the content, by name, of those that its spec or its pods name; one that
    does not exist is not in them. `rollouts` are by the resource and name of the workload. `said` are the
    reasons of its own conditions as they are now. `offers` is whether a resource is served here. `workers` is
    what becomes of its own workers, `left` how many there are, with those of its NodeSets, and `silence` why
    Slurm says nothing of them. `topology_kept` is whether somebody else keeps topology.conf,
    `sets` what StatefulSets should be, `room` the MaxNodeCount that was last written.
    """

    secrets: Mapping[str, Content] = field(default_factory=dict, repr=False)
    config_maps: Mapping[str, Content] = field(default_factory=dict, repr=False)
    rollouts: Mapping[tuple[Resource, str], Rollout] = field(default_factory=dict)
    database_ready: bool | None = None
    populate: PopulateJob | None = None
    said: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    offers: Callable[[Resource], bool] = lambda _: False
    nodesets: tuple[NodeSet, ...] = ()
    born_bare: bool = False
    workers: Decision | None = None
    left: int = 0
    silence: str = ""
    fresh: Fresh = field(default_factory=Fresh)
    domain: str = "cluster.local"
    topology_kept: bool = False
    sets: Resource = STATEFUL_SETS
    room: int = 0
