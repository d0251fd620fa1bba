"""The front door: what each kind is made of, and which changes wake it.

its own children, NodeSets that name it                ──► the SlurmCluster
Secrets and ConfigMaps that its spec names             ──► the SlurmCluster
"""

from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial

from slurmery.api.nebius import SlurmCluster
from slurmery.doors.contents import Contents
from slurmery.doors.reconcile import Kind, Reconcile
from slurmery.doors.report import Reporter
from slurmery.doors.views import Custom
from slurmery.kube.apply import Applier
from slurmery.kube.controller import Controller, TerminalError, controller_of, not_only_status
from slurmery.kube.meta import Key, Resource, View
from slurmery.kube.observed import Cached
from slurmery.kube.runtime import Runtime, Wing
from slurmery.nebius import names
from slurmery.nebius.caches import Caches
from slurmery.nebius.kinds import NODE_SETS, SLURM_CLUSTERS
from slurmery.nebius.references import uses
from slurmery.nebius.slurmcluster.decide import decide
from slurmery.nebius.slurmcluster.gather import Surroundings, gather


@dataclass(frozen=True)
class Door:
    """How the front door is opened; no namespaces are all, `workers` see to so many clusters at once."""

    namespaces: Sequence[str] = ()
    domain: str = "cluster.local"
    workers: int = 1
    time_limit: float = 180.0

    @asynccontextmanager
    async def open(self, runtime: Runtime) -> AsyncIterator[None]:
        """Give the runtime the informers and controllers of these kinds, for as long as it runs."""
        wing = Wing(runtime, SLURM_CLUSTERS)
        caches = Caches(wing, self.namespaces)
        contents = Contents(runtime.client, caches.metadata)
        around = Surroundings(caches, contents, runtime.discovery.offers, self.domain)
        informers = [one for cache in caches.owned.values() for one in cache.informers]
        applier = Applier(runtime.client, Cached(runtime.client, informers), runtime.discovery)
        kind = Kind(
            SlurmCluster,
            gather=partial(gather, around),
            decide=decide,
            labels=owner_labels,
            status=lambda _, __, plan: plan.fields,
        )
        reporter = Reporter(runtime.client, runtime.recorder("slurm-operator"), SLURM_CLUSTERS)
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
        wing.add(clusters)
        yield


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


async def _unreported(_: Key, error: TerminalError) -> None:
    """No kind raises one: whatever a person must mend is in a plan's conditions."""
    raise error
