"""A SlurmCluster as builders see it: its spec, its names, and the NodeSets that belong to it."""

from dataclasses import dataclass

from slurmery.api.nebius import NodeSet, SlurmCluster
from slurmery.api.nebius.nodeset import NodeSetSpec
from slurmery.api.nebius.slurmcluster import SlurmClusterSpec
from slurmery.kube.meta import Resource
from slurmery.kube.resources import STATEFUL_SETS
from slurmery.nebius.errors import SpecError
from slurmery.nebius.names import Names, labels, selector


@dataclass(frozen=True)
class Workers:
    """A NodeSet by name."""

    name: str
    spec: NodeSetSpec


@dataclass(frozen=True)
class Cluster:
    """What every builder is given."""

    spec: SlurmClusterSpec
    names: Names
    nodesets: tuple[Workers, ...] = ()
    # MaxNodeCount as it was last written: it needs a restart of slurmctld, so it never shrinks.
    room: int = 0
    # Whether workers are still there though maintenance sends them away: their jobs need all the rest.
    awake: bool = False
    # What its StatefulSets are.
    sets: Resource = STATEFUL_SETS

    @property
    def name(self) -> str:
        return self.names.cluster

    @property
    def is_1_22(self) -> bool:
        """Whether the cluster has workers of its own, and so the files of that generation."""
        return self.spec.has_own_workers

    @property
    def gpu(self) -> bool:
        """Whether any worker has GPUs."""
        if self.is_1_22:
            return self.spec.cluster_type == "gpu"
        return any(nodeset.spec.gpu.enabled for nodeset in self.nodesets)

    @property
    def kind(self) -> str:
        """What images call a cluster with GPUs or without."""
        return "gpu" if self.gpu else "cpu"

    @property
    def stopped(self) -> bool:
        """Whether maintenance keeps every pod down."""
        return self.spec.maintenance.startswith("downscale")

    @property
    def worker_count(self) -> int:
        """How many workers there may be at most."""
        own = self.spec.slurm_nodes.worker
        return own.size if own else sum(nodeset.spec.replicas for nodeset in self.nodesets)

    def replicas(self, wanted: int) -> int:
        """How many pods of a component beside the workers there should be now."""
        return 0 if self.stopped and not self.awake else wanted

    def labels(self, component: str) -> dict[str, str]:
        """The labels of a component's objects."""
        return labels(self.name, component)

    def selector(self, component: str) -> dict[str, str]:
        """The labels by which a component's pods are selected."""
        return selector(self.name, component)


def cluster(
    resource: SlurmCluster,
    nodesets: tuple[NodeSet, ...] = (),
    *,
    born_bare: bool = False,
    domain: str = "cluster.local",
    sets: Resource = STATEFUL_SETS,
) -> Cluster:
    """The cluster of a custom resource; `born_bare` if it has a controller without its name before it."""
    if resource.spec is None:
        raise SpecError("spec is missing")
    names = Names(
        cluster=resource.metadata.name,
        namespace=resource.metadata.namespace,
        prefixed=not (resource.spec.has_own_workers or born_bare),
        domain=domain,
    )
    workers = tuple(
        Workers(nodeset.metadata.name, nodeset.spec)
        for nodeset in sorted(nodesets, key=lambda each: each.metadata.name)
        if nodeset.spec is not None
    )
    return Cluster(resource.spec, names, workers, sets=sets)
