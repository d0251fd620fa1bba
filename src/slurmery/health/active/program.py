"""ActiveChecks, wired to a runtime.

its Jobs and its CronJob        ──► the ActiveCheck
its SlurmCluster                ──► the ActiveCheck
a check that it depends on      ──► the ActiveCheck
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar, cast

from slurmery.doors.cache import Cache
from slurmery.doors.report import Reporter
from slurmery.doors.views import Custom
from slurmery.health.active import kubejobs
from slurmery.health.active.reconcile import (
    ACTIVE_CHECKS,
    CHECK_INDEX,
    CLUSTER_INDEX,
    Caches,
    Part,
    Reconcile,
)
from slurmery.health.active.slurm import Reach, Ways, in_cluster
from slurmery.health.active.slurmjobs import SlurmJobs
from slurmery.kube.apply import Applier
from slurmery.kube.controller import Controller, unreported
from slurmery.kube.informer import Informer
from slurmery.kube.meta import Key, Resource, Selection, View
from slurmery.kube.observed import OWNER_INDEX, Cached, owners
from slurmery.kube.ownership import Footprint
from slurmery.kube.resources import CRON_JOBS, JOBS, ROLE_BINDINGS, ROLES, SERVICE_ACCOUNTS
from slurmery.kube.runtime import Runtime, Wing
from slurmery.kube.store import Index
from slurmery.nebius import names
from slurmery.nebius.kinds import SLURM_CLUSTERS

V = TypeVar("V", bound=View)

_DEPENDENTS: Final = "dependents"
_OURS: Final = f"{names.COMPONENT_LABEL}={names.CHECKS}"


@dataclass(frozen=True)
class Settings:
    """How checks are run. `user` submits their Slurm jobs; `limit` is how many of a cluster run at once;
    `every` is how often one that waits is looked at; `parts` are what is switched on."""

    namespaces: Sequence[str] = ()
    user: str = "soperatorchecks"
    limit: int = 4
    every: float = 10.0
    time_limit: float = 180.0
    parts: frozenset[Part] = frozenset(Part)


def wire(runtime: Runtime, settings: Settings, reach: Reach = in_cluster) -> None:
    """Give the runtime the informers and the controller of ActiveChecks."""
    wing = Wing(runtime, ACTIVE_CHECKS)

    def cache(of: Resource, view: type[V], index: dict[str, Index[V]], *, ours: bool = False) -> Cache[V]:
        selector = _OURS if ours else None
        places = [Selection(of, one, label_selector=selector) for one in settings.namespaces or (None,)]
        return Cache([wing.informer(place, view, index) for place in places])

    indexes: dict[str, Index[Custom]] = {CLUSTER_INDEX: _cluster_of, _DEPENDENTS: _depends_on}
    caches = Caches(
        checks=cache(ACTIVE_CHECKS, Custom, indexes),
        clusters=cache(SLURM_CLUSTERS, Custom, {}),
        jobs=cache(JOBS, kubejobs.Job, {CHECK_INDEX: _check_of}, ours=True),
        cron_jobs=cache(CRON_JOBS, kubejobs.CronJob, {OWNER_INDEX: owners}, ours=True),
    )
    shared = [
        cache(one, Footprint, {OWNER_INDEX: owners}, ours=True)
        for one in (SERVICE_ACCOUNTS, ROLES, ROLE_BINDINGS)
    ]
    # A cache of more is one of footprints to whoever only reads it.
    cron_jobs = cast("Sequence[Informer[Footprint]]", caches.cron_jobs.informers)
    informers = [*cron_jobs, *(one for each in shared for one in each.informers)]
    applier = Applier(runtime.client, Cached(runtime.client, informers), runtime.discovery)
    reporter = Reporter(runtime.client, runtime.recorder("soperatorchecks"), ACTIVE_CHECKS, timed=True)
    ways = Ways(runtime.client, settings.user, reach)
    caches.clusters.subscribe(lambda old, new: ways.forget(old.key) if old and not new else None)
    slurm_jobs = SlurmJobs(runtime.client, ways, settings.limit)
    reconcile = Reconcile(
        runtime.client, caches, applier, reporter, slurm_jobs, every=settings.every, parts=settings.parts
    )
    # One at a time, or two checks might take the last free place together.
    controller = Controller("activecheck", reconcile, unreported, time_limit=settings.time_limit)
    _wake(controller, caches)
    wing.add(controller)


def _wake(controller: Controller, caches: Caches) -> None:
    caches.checks.wakes(controller, relevant=_not_only_times)
    caches.checks.wakes(controller, _found(caches, _DEPENDENTS), relevant=_not_only_times)
    caches.clusters.wakes(controller, _found(caches, CLUSTER_INDEX))
    caches.jobs.wakes(controller, _check_of)
    caches.cron_jobs.wakes(controller, _check_of)


def _found(caches: Caches, index: str) -> Callable[[Custom], Iterable[Key]]:
    def find(view: Custom) -> Iterable[Key]:
        return [one.key for one in caches.checks.by(index, view.key)]

    return find


def _not_only_times(old: Custom, new: Custom) -> bool:
    return (old.metadata.generation, old.deleting, _runs(old)) != (
        new.metadata.generation,
        new.deleting,
        _runs(new),
    )


def _runs(view: Custom) -> tuple[object, object]:
    status = view.status or {}
    return status.get("k8sJobsStatus"), status.get("slurmJobsStatus")


def _cluster_of(view: Custom) -> Iterable[Key]:
    return (Key(view.metadata.namespace, view.spec.get("slurmClusterRefName", "")),)


def _depends_on(view: Custom) -> Iterable[Key]:
    return [Key(view.metadata.namespace, name) for name in view.spec.get("dependsOn") or ()]


def _check_of(view: View) -> Iterable[Key]:
    name = view.annotations.get(names.ACTIVE_CHECK_ANNOTATION)
    return (Key(view.metadata.namespace, name),) if name else ()
