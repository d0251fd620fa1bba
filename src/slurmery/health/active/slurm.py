"""The ways to the Slurm of each cluster: as root to look and to react, as the checks' user to submit.

All checks of a cluster share one list of its jobs, which is asked for again after a few seconds.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from slurmery.doors.key import KeySecret
from slurmery.kube.client import Client
from slurmery.kube.meta import Key
from slurmery.nebius.names import SLURMRESTD, Names
from slurmery.slurm.client import Listing, SlurmClient
from slurmery.slurm.model import Job
from slurmery.slurm.tokens import SignedTokens

_ROOT: Final = "root"
_KEPT_SECONDS: Final = 5.0

# Where the slurmrestd of a SlurmCluster answers.
Reach = Callable[[Key], str]


def in_cluster(key: Key) -> str:
    """Its Service."""
    return Names(key.name, key.namespace).rest_url(SLURMRESTD.port)


@dataclass
class Way:
    """The way to one Slurm."""

    root: SlurmClient
    submitter: SlurmClient
    user: str
    _jobs: Listing[Job] | None = None
    _asked: float = 0.0
    _lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def jobs(self, *, fresh: bool = False) -> tuple[Job, ...]:
        """All jobs; if `fresh`, as they are at this moment."""
        async with self._lock:
            now = asyncio.get_running_loop().time()
            if self._jobs is None or fresh or now - self._asked >= _KEPT_SECONDS:
                since = self._jobs.last_update if self._jobs and not fresh else 0
                self._jobs = await self.root.jobs(since) or self._jobs
                self._asked = now
            return self._jobs.items if self._jobs else ()


class Ways:
    """One way for each cluster, made when it is first needed."""

    def __init__(self, client: Client, user: str, reach: Reach = in_cluster) -> None:
        self._client = client
        self._user = user
        self._reach = reach
        self._ways: dict[Key, Way] = {}

    def to(self, cluster: Key) -> Way:
        """The way to a SlurmCluster."""
        if cluster not in self._ways:
            key, url = KeySecret(self._client, *cluster), self._reach(cluster)
            self._ways[cluster] = Way(
                SlurmClient(url, SignedTokens(key, user=_ROOT)),
                SlurmClient(url, SignedTokens(key, user=self._user)),
                self._user,
            )
        return self._ways[cluster]

    def forget(self, cluster: Key) -> None:
        """The cluster is gone."""
        self._ways.pop(cluster, None)
