"""What Slurm said last, how old that is, and what changed.

A View is one list of Slurm's: a mapping that never changes and knows its age. A Snapshot is all of them.
After a failure the last good list stays, grows older and says why; it is not fresh again until Slurm answers.
Unknown is busy: nothing here says "drained" without a fresh, successful answer.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import Final, TypeVar

from slurmery.slurm.errors import GarbledError
from slurmery.slurm.model import Job, Node
from slurmery.slurm.records import Partition, Ping, Reservation

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

NEVER: Final = -math.inf


class Part(StrEnum):
    """The lists a snapshot is made of."""

    NODES = "nodes"
    JOBS = "jobs"
    PARTITIONS = "partitions"
    RESERVATIONS = "reservations"
    PINGS = "pings"


@dataclass(frozen=True, eq=False)
class View(Mapping[K, V]):
    """One list by name or id. `taken_at` is when the request for it started, on the event loop's clock."""

    entries: Mapping[K, V]
    taken_at: float
    error: str = ""

    def __getitem__(self, key: K) -> V:
        return self.entries[key]

    def __iter__(self) -> Iterator[K]:
        return iter(self.entries)

    def __len__(self) -> int:
        return len(self.entries)

    def age(self, now: float) -> float:
        """Seconds since Slurm was last asked with success; infinite if never."""
        return now - self.taken_at

    def fresh(self, now: float, max_age: float) -> bool:
        """Whether the last request succeeded, and not longer than `max_age` ago."""
        return not self.error and self.age(now) <= max_age


def _unasked() -> View[K, V]:
    return View({}, NEVER, "not asked yet")


@dataclass(frozen=True)
class Changes:
    """What one answer changed. `error` is why there was no answer, empty if there was."""

    part: Part
    added: frozenset[Hashable] = frozenset()
    changed: frozenset[Hashable] = frozenset()
    removed: frozenset[Hashable] = frozenset()
    error: str = ""

    @property
    def touched(self) -> frozenset[Hashable]:
        return self.added | self.changed | self.removed


def difference(part: Part, old: Mapping[K, V], new: Mapping[K, V], facts: Callable[[V], object]) -> Changes:
    """What is different, as far as `facts` can see."""
    common = old.keys() & new.keys()
    return Changes(
        part,
        added=frozenset(new.keys() - common),
        changed=frozenset(k for k in common if old[k] is not new[k] and facts(old[k]) != facts(new[k])),
        removed=frozenset(old.keys() - common),
    )


@dataclass(frozen=True)
class Snapshot:
    """All that is known of one Slurm cluster. Parts that nobody asked for stay empty and are never fresh."""

    nodes: View[str, Node] = field(default_factory=_unasked)
    jobs: View[int, Job] = field(default_factory=_unasked)
    partitions: View[str, Partition] = field(default_factory=_unasked)
    reservations: View[str, Reservation] = field(default_factory=_unasked)
    # In the order of slurm.conf.
    pings: View[str, Ping] = field(default_factory=_unasked)
    asked: frozenset[Part] = frozenset()

    def is_drained(self, name: str, now: float, max_age: float) -> bool:
        """Whether Slurm says, freshly, that nothing runs on the node and nothing will.

        A node whose job is suspended may call itself idle, so where jobs are asked for they have a say.
        """
        node = self.nodes.get(name)
        if node is None or not node.is_drained or not self.nodes.fresh(now, max_age):
            return False
        if Part.JOBS not in self.asked:
            return True
        suspended = self._suspended_nodes
        return self.jobs.taken_at > NEVER and suspended is not None and name not in suspended

    def jobs_on(self, name: str) -> tuple[Job, ...]:
        """Jobs that hold the node now, as of the last list of jobs."""
        return self._jobs_by_node.get(name, ())

    @cached_property
    def _suspended_nodes(self) -> frozenset[str] | None:
        """None if Slurm's text about any of them cannot be read."""
        try:
            return frozenset(
                name for job in self.jobs.values() if job.is_suspended for name in job.node_names
            )
        except GarbledError:
            return None

    @cached_property
    def _jobs_by_node(self) -> Mapping[str, tuple[Job, ...]]:
        found: dict[str, list[Job]] = {}
        for job in self.jobs.values():
            if job.holds_nodes:
                for name in job.node_names:
                    found.setdefault(name, []).append(job)
        return {name: tuple(jobs) for name, jobs in found.items()}
