"""The Slurm clusters that are followed, each with its client and its poller, by key.

`follow` is level-triggered: call it on every reconcile, it acts only when the way to Slurm changed. A cluster
that is not followed has an empty snapshot in which nothing is fresh.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from slurmery.kube import logs
from slurmery.slurm.client import SlurmClient
from slurmery.slurm.poller import Poller
from slurmery.slurm.snapshot import Changes, Part, Snapshot
from slurmery.slurm.tokens import TokenSource

log = logs.logger("slurm")

# Nobody may act on an older answer, and a slurmrestd that vanished with its machine never hangs up.
_LIST_SECONDS: Final = 30.0


@dataclass(frozen=True)
class Endpoint:
    """How to reach a cluster's slurmrestd, and how often to ask for what."""

    url: str
    intervals: Mapping[Part, float]
    version: str = ""


@dataclass(frozen=True)
class Cluster:
    """A followed cluster."""

    endpoint: Endpoint
    client: SlurmClient
    poller: Poller
    task: asyncio.Task[None]


class Clusters:
    """All followed clusters of this process. `changed` hears of each change with the cluster's key."""

    def __init__(self, changed: Callable[[str, Changes], None]) -> None:
        self._changed = changed
        self._clusters: dict[str, Cluster] = {}

    def follow(self, key: str, endpoint: Endpoint, tokens: TokenSource) -> Cluster:
        """Start, or go on; a different endpoint starts anew. The tokens of the first call are kept."""
        known = self._clusters.get(key)
        if known is not None and known.endpoint == endpoint and not known.task.done():
            return known
        self.drop(key)
        client = SlurmClient(endpoint.url, tokens, version=endpoint.version, list_deadline=_LIST_SECONDS)
        poller = Poller(client, endpoint.intervals, lambda changes: self._changed(key, changes))
        task = asyncio.create_task(poller.run(), name=f"slurm poller {key}")
        task.add_done_callback(_report)
        self._clusters[key] = Cluster(endpoint, client, poller, task)
        return self._clusters[key]

    def client(self, key: str) -> SlurmClient | None:
        cluster = self._clusters.get(key)
        return cluster.client if cluster else None

    def snapshot(self, key: str) -> Snapshot:
        cluster = self._clusters.get(key)
        return cluster.poller.snapshot if cluster else Snapshot()

    def poke(self, key: str, part: Part) -> None:
        """Ask again soon; after a write, for instance."""
        if key in self._clusters:
            self._clusters[key].poller.poke(part)

    def drop(self, key: str) -> None:
        """Forget the cluster: its polling stops and its snapshot is gone."""
        cluster = self._clusters.pop(key, None)
        if cluster is not None:
            cluster.task.cancel()

    async def close(self) -> None:
        tasks = [cluster.task for cluster in self._clusters.values()]
        for key in list(self._clusters):
            self.drop(key)
        await asyncio.gather(*tasks, return_exceptions=True)


def _report(task: asyncio.Task[None]) -> None:
    """A poller ends only by being cancelled; its snapshot then grows old, which is safe, but not silent."""
    if not task.cancelled() and (error := task.exception()) is not None:
        log.error("Poller died", task=task.get_name(), exc_info=error)
