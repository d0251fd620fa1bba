"""Slurm's last word on its nodes, and whether it may be gone by.

It counts as fresh if it is recent and clearly newer than what we last told Slurm about that node. An answer
that crossed our drain on the way would show the node as it was before; and slurmctld counts what is
allocated at most once a second, so that right after a job has started, a node can call itself idle and
drained. That is why both its nodes and its jobs must have been listed SETTLED_SECONDS after our word, and
why a node counts as free only if neither list has a job on it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

import msgspec

from slurmery.slurm.errors import GarbledError
from slurmery.slurm.model import Node
from slurmery.slurm.snapshot import NEVER, Snapshot

# How old Slurm's word may be: some polls may fail, but no worker is judged by what was true a minute ago.
FRESH_SECONDS: Final = 30.0
SETTLED_SECONDS: Final = 2.0


@dataclass(frozen=True)
class Slurm:
    """What Slurm said last and when we last told it something, by node, both on the loop's clock."""

    snapshot: Snapshot = field(default_factory=Snapshot)
    told: Mapping[str, float] = field(default_factory=dict)
    clock: float = 0.0

    def fresh(self, name: str) -> bool:
        settled = self.told.get(name, NEVER) + SETTLED_SECONDS
        lists = (self.snapshot.nodes, self.snapshot.jobs)
        return all(each.fresh(self.clock, FRESH_SECONDS) and each.taken_at > settled for each in lists)

    def node(self, name: str) -> Node | None:
        """The node; one that calls itself free while a job is on it is made to say that it is not."""
        node = self.snapshot.nodes.get(name)
        if node and not node.is_busy and self._has_job(name):
            return msgspec.structs.replace(node, state=(*node.state, "ALLOCATED"))
        return node

    def _has_job(self, name: str) -> bool:
        try:
            return bool(self.snapshot.jobs_on(name))
        except GarbledError:
            return True  # one of the jobs, nobody knows which, may be here
