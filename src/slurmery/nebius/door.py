"""The front door: what each kind is made of, and which changes wake it.

its own children, NodeSets that name it                ──► the SlurmCluster
its worker pods, and Slurm while one of them must go   ──► the SlurmCluster
Secrets and ConfigMaps that its spec names             ──► the SlurmCluster
its own children, pods, power state, cluster, Slurm    ──► the NodeSet
labels of Kubernetes nodes, where workers run          ──► topology.conf
"""

from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial

from slurmery.api.nebius import NodeSet, SlurmCluster
from slurmery.doors.cache import Cache
from slurmery.doors.conditions import Event
from slurmery.doors.contents import Contents
from slurmery.doors.hold import Hold
from slurmery.doors.reconcile import Kind, Reconcile
from slurmery.doors.report import Reporter
from slurmery.doors.views import Custom
from slurmery.kube.apply import Applier
from slurmery.kube.controller import Controller, Reconciler, controller_of, not_only_status, unreported
from slurmery.kube.meta import Key, Resource, Selection, View
from slurmery.kube.observed import Cached
from slurmery.kube.resources import NODES
from slurmery.kube.runtime import Runtime, Wing
from slurmery.nebius import names
from slurmery.nebius.caches import Caches
from slurmery.nebius.crew.crew import Crew
from slurmery.nebius.kinds import NODE_SETS, POWER_STATES, SLURM_CLUSTERS
from slurmery.nebius.links import INTERVALS, Links, Reach, in_cluster
from slurmery.nebius.nodeset.decide import NodeSetPlan
from slurmery.nebius.nodeset.decide import decide as decide_nodeset
from slurmery.nebius.nodeset.finish import Finish
from slurmery.nebius.nodeset.finish import needed as needed_nodeset
from slurmery.nebius.nodeset.gather import gather as gather_nodeset
from slurmery.nebius.nodeset.observed import Observed
from slurmery.nebius.references import uses
from slurmery.nebius.sets import Api, LetGo, let_go
from slurmery.nebius.slurmcluster.decide import decide
from slurmery.nebius.slurmcluster.finish import finish, needed
from slurmery.nebius.slurmcluster.gather import Surroundings, gather
from slurmery.nebius.slurmcluster.jail import POPULATED
from slurmery.nebius.topology.reconcile import Reconcile as TopologyReconcile
from slurmery.nebius.topology.reconcile import Topology
from slurmery.slurm.snapshot import Part


@dataclass(frozen=True)
class Door:
    """How the front door is opened; no namespaces are all, `workers` see to so many clusters at once.

    Without `topology`, nobody keeps topology.conf. `sets` is whose StatefulSets are made.
    """

    namespaces: Sequence[str] = ()
    domain: str = "cluster.local"
    workers: int = 1
    time_limit: float = 180.0
    topology: Topology | None = None
    sets: Api = Api.NATIVE
    reach: Reach = in_cluster
    intervals: Mapping[Part, float] = field(default_factory=lambda: INTERVALS)

    @asynccontextmanager
    async def open(self, runtime: Runtime) -> AsyncIterator[None]:
        """Give the runtime the informers and controllers of these kinds, for as long as it runs."""
        wing = Wing(runtime, SLURM_CLUSTERS)
        caches = Caches(wing, self.namespaces)
        contents = Contents(runtime.client, caches.metadata)
        links = Links(runtime.client, self.reach, self.intervals)
        crew = Crew(wing, self.namespaces, caches.workloads[self.sets.resource], links)
        offers, kept = runtime.discovery.offers, self.topology is not None
        around = Surroundings(caches, contents, crew, offers, self.domain, kept, sets=self.sets.resource)
        handing = partial(let_go, runtime.client, caches.workloads, self.sets.resource)
        informers = [one for cache in caches.owned.values() for one in cache.informers]
        applier = Applier(runtime.client, Cached(runtime.client, informers), runtime.discovery)
        reporter = Reporter(runtime.client, runtime.recorder("slurm-operator"), SLURM_CLUSTERS)
        kind = Kind(
            SlurmCluster,
            gather=partial(gather, around),
            decide=decide,
            labels=owner_labels,
            status=lambda _, __, plan: plan.fields,
            finish=partial(finish, crew, handing, partial(_say, caches.custom[SLURM_CLUSTERS], reporter)),
            hold=Hold(runtime.client, SLURM_CLUSTERS, partial(needed, crew)),
        )
        reconcile = Reconcile(kind, caches.custom[SLURM_CLUSTERS], applier, reporter)
        clusters = self._controller("slurmcluster", reconcile)
        caches.custom[SLURM_CLUSTERS].wakes(clusters, relevant=not_only_status)
        caches.custom[NODE_SETS].wakes(clusters, _cluster_of, relevant=not_only_status)
        for resource, cache in caches.owned.items():
            cache.wakes(clusters, _concerned(caches, resource))
        nodesets = self._controller("nebiusnodeset", nodeset_reconcile(runtime, around, applier, handing))
        wake_nodesets(nodesets, caches)
        crew.wakes(clusters, nodesets)
        caches.custom[SLURM_CLUSTERS].subscribe(partial(_forget_deleted, crew))
        wing.add(clusters)
        wing.add(nodesets)
        if self.topology:
            nodes = wing.informer(Selection(NODES, metadata_only=True), View)
            keep = TopologyReconcile(around, applier, nodes, self.topology)
            topologies = self._controller("topology", keep)
            keep.wakes(topologies)
            wing.add(topologies)
        try:
            yield
        finally:
            await links.clusters.close()

    def _controller(self, name: str, reconcile: Reconciler) -> Controller:
        return Controller(name, reconcile, unreported, workers=self.workers, time_limit=self.time_limit)


def nodeset_reconcile(
    runtime: Runtime, around: Surroundings, applier: Applier, handing: LetGo
) -> Reconcile[NodeSet, Observed, NodeSetPlan]:
    """What reconciling a NodeSet is."""
    views, recorder = around.caches.custom[NODE_SETS], runtime.recorder("slurm-operator")
    reporter = Reporter(runtime.client, recorder, NODE_SETS)
    powers = Reporter(runtime.client, recorder, POWER_STATES)
    kind = Kind(
        NodeSet,
        gather=partial(gather_nodeset, around),
        decide=decide_nodeset,
        labels=lambda _: {names.NAME_LABEL: names.APPLICATION, names.COMPONENT_LABEL: names.NODESET},
        status=lambda _, __, plan: plan.fields,
        finish=Finish(around.crew, around.caches, handing, powers, partial(_say, views, reporter)),
        hold=Hold(runtime.client, NODE_SETS, partial(needed_nodeset, around.crew)),
    )
    return Reconcile(kind, views, applier, reporter)


def wake_nodesets(nodesets: Controller, caches: Caches) -> None:
    """Let everything reach NodeSets that their decisions look at."""
    caches.custom[NODE_SETS].wakes(nodesets, relevant=not_only_status)
    caches.custom[POWER_STATES].wakes(nodesets, lambda view: [view.key], relevant=not_only_status)
    caches.custom[SLURM_CLUSTERS].wakes(nodesets, partial(_nodesets_of, caches), relevant=_filled)
    for cache in caches.owned.values():
        cache.wakes(nodesets, controller_of(NODE_SETS))


def owner_labels(cluster: str) -> dict[str, str]:
    """The labels of everything that a SlurmCluster owns."""
    return {names.NAME_LABEL: names.APPLICATION, names.INSTANCE_LABEL: cluster}


def _concerned(caches: Caches, changed: Resource) -> Callable[[View], Iterable[Key]]:
    owner = controller_of(SLURM_CLUSTERS)

    def find(view: View) -> Iterable[Key]:
        yield from owner(view)
        yield from (user.key for user in caches.users(SLURM_CLUSTERS, changed, view.key))

    return find


def _cluster_of(view: Custom) -> Iterable[Key]:
    return [key for used, key in uses(view) if used == SLURM_CLUSTERS]


def _nodesets_of(caches: Caches, cluster: Custom) -> Iterable[Key]:
    return [user.key for user in caches.users(NODE_SETS, SLURM_CLUSTERS, cluster.key)]


def _filled(old: Custom, new: Custom) -> bool:
    """Pods of NodeSets wait until the jail is filled, which only the status tells."""
    return not_only_status(old, new) or _jail_of(old) != _jail_of(new)


def _jail_of(view: Custom) -> str:
    said = {each["type"]: each["status"] for each in (view.status or {}).get("conditions") or ()}
    return str(said.get(POPULATED, ""))


def _say(views: Cache[Custom], reporter: Reporter, key: Key, event: Event) -> None:
    if view := views.get(key):
        reporter.say(view, event)


def _forget_deleted(crew: Crew, old: Custom | None, new: Custom | None) -> None:
    if old and not new:
        crew.links.clusters.drop(str(old.key))
        crew.forget(old.key)
