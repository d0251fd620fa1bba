"""How a SlurmCluster stands: a condition for every component, a phase for all, counts for the columns."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from slurmery.api.nebius import SlurmCluster
from slurmery.doors.conditions import Condition, Rollout
from slurmery.nebius import names
from slurmery.nebius.cluster import Cluster
from slurmery.nebius.config.partitions import references
from slurmery.nebius.crew.decide import words as waiting
from slurmery.nebius.slurmcluster.components import Component
from slurmery.nebius.slurmcluster.observed import Observed

AVAILABLE: Final = "Available"
NOT_AVAILABLE: Final = "NotAvailable"
PHASE_AVAILABLE: Final = "Available"
DELETING: Final = "Deleting"
PHASE_NOT_AVAILABLE: Final = "Not available"

CONDITIONS: Final[Mapping[str, str]] = {
    names.COMMON: "CommonAvailable",
    names.ACCOUNTING: "AccountingAvailable",
    names.WORKER: "WorkersAvailable",
    names.NODESET: "NodeSetRefsResolved",
    names.SCONFIGCONTROLLER: "SConfigControllerAvailable",
    names.CONTROLLER: "ControllersAvailable",
    names.LOGIN: "LoginAvailable",
    names.REST: "RestAvailable",
    names.EXPORTER: "ExporterAvailable",
}
_COUNTS: Final = {
    names.WORKER: "readyWorkers",
    names.LOGIN: "readyLogin",
    names.SCONFIGCONTROLLER: "readySConfigController",
}
# What maintenance stops does not count as available; the writer with no pods does, as it always did.
_STAYS: Final = frozenset({names.SCONFIGCONTROLLER})


def condition(cluster: Cluster, component: Component, observed: Observed, *, waits: str) -> Condition:
    """How one component stands; `waits` is what all of them wait for, if anything."""
    kind = CONDITIONS[component.name]
    if component.name == names.NODESET:
        return _references(kind, cluster)
    if component.problems:
        first = component.problems[0]
        return Condition(kind, "False", first.reason, first.message)
    if cluster.stopped and component.name not in _STAYS:
        words = f"spec.maintenance is {cluster.spec.maintenance}.{_stays(component, observed)}"
        return Condition(kind, "False", "Maintenance", words)
    if not component.enabled:
        return Condition(kind, "False", NOT_AVAILABLE, "It is not enabled.")
    if waits and component.name != names.COMMON:
        return Condition(kind, "False", NOT_AVAILABLE, waits)
    return _counted(kind, component, observed)


def _references(kind: str, cluster: Cluster) -> Condition:
    found = references(cluster)
    if not found.unresolved:
        return Condition(kind, "True", "Resolved", "All NodeSets that partitions name have nodes.")
    lost = "; ".join(f"partition {each.partition}: {each.nodeset} {each.reason}" for each in found.unresolved)
    return Condition(kind, "False", "Ignored", f"NodeSets that partitions name are ignored: {lost}.")


def going(resource: SlurmCluster, observed: Observed, condition: Condition) -> Condition:
    """The condition, with what a cluster that is being deleted waits for."""
    if resource.metadata.deletion_timestamp is None or condition.type != CONDITIONS[names.WORKER]:
        return condition
    words = f"The cluster is being deleted once no worker has jobs.{_waits(observed)}"
    return Condition(condition.type, "False", DELETING, words)


def _stays(component: Component, observed: Observed) -> str:
    if component.name == names.WORKER:
        return _waits(observed)
    return f" It stays until {observed.left} workers are gone." if observed.left else ""


def _waits(observed: Observed) -> str:
    waits = observed.workers.plan.waits if observed.workers else ()
    return f" {waiting(waits, observed.silence)}" if waits else ""


def _counted(kind: str, component: Component, observed: Observed) -> Condition:
    if component.workload is None:
        return Condition(kind, "True", AVAILABLE, "All objects are as the spec says.")
    if component.name == names.ACCOUNTING and observed.database_ready is False:
        return Condition(kind, "False", NOT_AVAILABLE, "The database is not ready.")
    if component.name == names.WORKER and component.wanted == 0:
        return Condition(kind, "False", NOT_AVAILABLE, "No worker is wanted.")
    rollout = observed.rollouts.get(component.workload)
    ready = rollout.ready if rollout else 0
    words = f"{ready} of {component.wanted} pods are ready."
    if component.name == names.WORKER:
        words += _waits(observed)
    if rollout is None or not _caught_up(rollout) or ready != component.wanted:
        return Condition(kind, "False", NOT_AVAILABLE, words)
    return Condition(kind, "True", AVAILABLE, words)


def _caught_up(rollout: Rollout) -> bool:
    return rollout.observed_generation >= rollout.generation


def fields(
    resource: SlurmCluster,
    components: Iterable[Component],
    conditions: Iterable[Condition],
    observed: Observed,
) -> dict[str, Any]:
    """Phase and counts."""
    wanted = {CONDITIONS[each.name] for each in components if each.enabled and _counts(each)}
    good = {each.type for each in conditions if each.status == "True"}
    phase = PHASE_AVAILABLE if wanted <= good else PHASE_NOT_AVAILABLE
    return {
        "phase": DELETING if resource.metadata.deletion_timestamp else phase,
        **{
            _COUNTS[each.name]: found.ready if (found := observed.rollouts.get(each.workload)) else 0
            for each in components
            if each.name in _COUNTS and each.workload
        },
    }


def _counts(component: Component) -> bool:
    """Whether the cluster is not available without it; workers that nobody wants are not missed."""
    return component.name != names.NODESET and (component.name != names.WORKER or component.wanted > 0)
