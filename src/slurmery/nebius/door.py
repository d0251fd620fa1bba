"""The front door: what each kind is made of, and which changes wake it.

its own children, NodeSets that name it                ──► the SlurmCluster
its worker pods, and Slurm while one of them must go   ──► the SlurmCluster
Secrets and ConfigMaps that its spec names             ──► the SlurmCluster
"""

from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial

from slurmery.api.nebius import SlurmCluster
from slurmery.doors.conditions import Event
from slurmery.doors.contents import Contents
from slurmery.doors.hold import Hold
from slurmery.doors.reconcile import Kind, Reconcile
from slurmery.doors.report import Reporter
from slurmery.doors.views import Custom
from slurmery.kube.apply import Applier
from slurmery.kube.controller import Controller, TerminalError, controller_of, not_only_status
from slurmery.kube.meta import Key, Resource, View
from slurmery.kube.observed import Cached
from slurmery.kube.resources import STATEFUL_SETS
from slurmery.kube.runtime import Runtime, Wing
from slurmery.nebius import names
from slurmery.nebius.caches import Caches
from slurmery.nebius.crew.crew import Crew
from slurmery.nebius.kinds import NODE_SETS, SLURM_CLUSTERS
from slurmery.nebius.links import INTERVALS, Links, Reach, in_cluster
from slurmery.nebius.references import uses
from slurmery.nebius.slurmcluster.decide import decide
from slurmery.nebius.slurmcluster.finish import finish, needed
from slurmery.nebius.slurmcluster.gather import Surroundings, gather
from slurmery.slurm.snapshot import Part


@dataclass(frozen=True)
class Door:
    """How the front door is opened; no namespaces are all, `workers` see to so many clusters at once."""

    namespaces: Sequence[str] = ()
    domain: str = "cluster.local"
    workers: int = 1
    time_limit: float = 180.0
    reach: Reach = in_cluster
    intervals: Mapping[Part, float] = field(default_factory=lambda: INTERVALS)

    @asynccontextmanager
    async def open(self, runtime: Runtime) -> AsyncIterator[None]:
        """Give the runtime the informers and controllers of these kinds, for as long as it runs."""
        wing = Wing(runtime, SLURM_CLUSTERS)
        caches = Caches(wing, self.namespaces)
        contents = Contents(runtime.client, caches.metadata)
        links = Links(runtime.client, self.reach, self.intervals)
        crew = Crew(wing, self.namespaces, caches.workloads[STATEFUL_SETS], links)
        around = Surroundings(caches, contents, crew, runtime.discovery.offers, self.domain)
        informers = [one for cache in caches.owned.values() for one in cache.informers]
        applier = Applier(runtime.client, Cached(runtime.client, informers), runtime.discovery)
        reporter = Reporter(runtime.client, runtime.recorder("slurm-operator"), SLURM_CLUSTERS)
        kind = Kind(
            SlurmCluster,
            gather=partial(gather, around),
            decide=decide,
            labels=owner_labels,
            status=lambda _, __, plan: plan.fields,
            finish=partial(finish, crew, partial(_say, caches, reporter)),
            hold=Hold(runtime.client, SLURM_CLUSTERS, partial(needed, crew)),
        )
        clusters = Controller(
            "slurmcluster",
            Reconcile(kind, caches.custom[SLURM_CLUSTERS], applier, reporter),
            _unreported,
            workers=self.workers,
            time_limit=self.time_limit,
        )
        caches.custom[SLURM_CLUSTERS].wakes(clusters, relevant=not_only_status)
        caches.custom[NODE_SETS].wakes(clusters, _cluster_of, relevant=not_only_status)
        for resource, cache in caches.owned.items():
            cache.wakes(clusters, _concerned(caches, resource))
        crew.wakes(clusters)
        caches.custom[SLURM_CLUSTERS].subscribe(partial(_forget_deleted, crew))
        wing.add(clusters)
        try:
            yield
        finally:
            await links.clusters.close()


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


def _say(caches: Caches, reporter: Reporter, key: Key, event: Event) -> None:
    if view := caches.custom[SLURM_CLUSTERS].get(key):
        reporter.say(view, event)


def _forget_deleted(crew: Crew, old: Custom | None, new: Custom | None) -> None:
    if old and not new:
        crew.links.clusters.drop(str(old.key))
        crew.forget(old.key)


async def _unreported(_: Key, error: TerminalError) -> None:
    """No kind raises one: whatever a person must mend is in a plan's conditions."""
    raise error
