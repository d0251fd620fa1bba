"""The ways to Slurm: a poller follows every cluster that has a slurmrestd; reconciles read what it found."""

from collections.abc import Callable, Mapping
from typing import Final

from slurmery.doors.key import KeySecret
from slurmery.kube.client import Client
from slurmery.kube.meta import Key
from slurmery.nebius.cluster import Cluster
from slurmery.nebius.names import SLURMRESTD
from slurmery.nebius.ports import port
from slurmery.slurm.clusters import Clusters, Endpoint
from slurmery.slurm.snapshot import Changes, Part
from slurmery.slurm.tokens import SignedTokens

Reach = Callable[[Cluster], str]

# SlurmUser of these clusters: nobody else may drain nodes.
_USER: Final = "root"
INTERVALS: Final[Mapping[Part, float]] = {Part.NODES: 5.0, Part.JOBS: 10.0}


def in_cluster(cluster: Cluster) -> str:
    """Where slurmrestd is reached from within the Kubernetes cluster."""
    return cluster.names.rest_url(port(cluster.spec.slurm_nodes.rest.rest, SLURMRESTD))


class Links:
    """The clusters that are followed, by their key; `changed` is called when Slurm said something new."""

    def __init__(
        self, client: Client, reach: Reach = in_cluster, intervals: Mapping[Part, float] = INTERVALS
    ) -> None:
        self.clusters = Clusters(self._tell)
        self.changed: list[Callable[[Key], None]] = []
        self._client = client
        self._reach = reach
        self._intervals = intervals

    def follow(self, cluster: Cluster) -> None:
        """Ask Slurm from now on, if there is a slurmrestd to ask."""
        at = cluster.names
        key = str(Key(at.namespace, at.cluster))
        if not cluster.spec.slurm_nodes.rest.enabled or cluster.replicas(1) == 0:
            self.clusters.drop(key)
            return
        tokens = SignedTokens(KeySecret(self._client, at.namespace, at.cluster), user=_USER)
        self.clusters.follow(key, Endpoint(self._reach(cluster), self._intervals), tokens)

    def silence(self, cluster: Cluster) -> str:
        """Why Slurm says nothing, in a sentence; empty if it does."""
        if not cluster.spec.slurm_nodes.rest.enabled:
            return "Slurm cannot be asked: slurmNodes.rest is not enabled."
        snapshot = self.clusters.snapshot(str(Key(cluster.names.namespace, cluster.names.cluster)))
        error = snapshot.nodes.error or snapshot.jobs.error
        return f"Slurm gives no answer ({error})." if error else ""

    def _tell(self, cluster: str, _: Changes) -> None:
        for told in self.changed:
            told(Key(*cluster.split("/", 1)))
