"""What a decision about a NodeSet looks at."""

from collections.abc import Mapping
from dataclasses import dataclass

from slurmery.doors.conditions import Problem
from slurmery.nebius.cluster import Cluster, Workers
from slurmery.nebius.crew.decide import Decision, Squad


@dataclass(frozen=True)
class Whole:
    """A NodeSet with its cluster."""

    cluster: Cluster
    workers: Workers
    squad: Squad
    versions: Mapping[str, str]


@dataclass(frozen=True)
class Observed:
    """The world around a NodeSet.

    Without a `whole`, `missing` says why there is none. `active` are the ordinals that are powered on, where
    the power state of an ephemeral NodeSet is there. `waits` is why no pod may start yet.
    """

    whole: Whole | None = None
    missing: Problem | None = None
    decision: Decision | None = None
    active: tuple[int, ...] | None = None
    waits: str = ""
    silence: str = ""
    uid: str = ""
    going: bool = False
