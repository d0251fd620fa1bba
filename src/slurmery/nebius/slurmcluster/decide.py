"""From a SlurmCluster and what is observed to what should be: pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from slurmery.api.nebius import SlurmCluster
from slurmery.doors.conditions import Condition, Problem, degraded
from slurmery.doors.plan import Plan
from slurmery.kube.desired import Desired
from slurmery.kube.resources import (
    CONFIG_MAPS,
    DAEMON_SETS,
    DEPLOYMENTS,
    JOBS,
    POD_MONITORS,
    ROLE_BINDINGS,
    ROLES,
    SERVICE_ACCOUNTS,
    SERVICE_MONITORS,
    SERVICES,
)
from slurmery.nebius import names
from slurmery.nebius.cluster import Cluster, cluster
from slurmery.nebius.crew.decide import Decision
from slurmery.nebius.errors import SpecError
from slurmery.nebius.kinds import JAILED_CONFIGS
from slurmery.nebius.populatejail.build import job
from slurmery.nebius.slurmcluster import jail as jails
from slurmery.nebius.slurmcluster import status
from slurmery.nebius.slurmcluster.components import Component, components
from slurmery.nebius.slurmcluster.observed import Observed

# StatefulSets are not among them: pods that hold data or jobs do not go because a field did.
_PRUNED: Final = (
    CONFIG_MAPS,
    DAEMON_SETS,
    DEPLOYMENTS,
    ROLE_BINDINGS,
    ROLES,
    SERVICE_ACCOUNTS,
    SERVICES,
    JAILED_CONFIGS,
    POD_MONITORS,
    SERVICE_MONITORS,
)
_SOON: Final = 2.0


@dataclass(frozen=True)
class ClusterPlan(Plan):
    """A plan, the status beside the conditions, and what is to be done with the cluster's own workers."""

    fields: Mapping[str, Any] = field(default_factory=dict)
    workers: Decision | None = None
    wanted: Cluster | None = None


def decide(resource: SlurmCluster, observed: Observed) -> ClusterPlan:
    """What should exist now, and what to say about it."""
    try:
        named = cluster(
            resource,
            observed.nodesets,
            born_bare=observed.born_bare,
            domain=observed.domain,
            sets=observed.sets,
        )
    except SpecError as error:
        return _unreadable(error)
    wanted = replace(named, awake=observed.left > 0, room=observed.room)
    parts = components(wanted, observed)
    jail = jails.jail(wanted, observed, _pods_left(parts, observed))
    filling, refused = _populate(wanted, jail)
    # A cluster that was up before goes on, or goes to sleep, also while its jail is filled anew.
    running = jail.usable or wanted.stopped
    held = () if running else tuple(each for each in parts if each.name != names.COMMON)
    applied = tuple(each for each in parts if each not in held)
    problems = [*refused, *jail.problems, *(one for each in parts for one in each.problems)]
    waits = "" if jail.usable else jail.conditions[-1].message
    conditions = tuple(
        status.going(resource, observed, status.condition(wanted, each, observed, waits=waits))
        for each in parts
    )
    return ClusterPlan(
        desired=(*filling, *(one for each in applied for one in each.desired)),
        conditions=(*conditions, *jail.conditions, degraded(problems)),
        prune=() if problems else (JOBS, *(_PRUNED if running else ())),
        requeue=_requeue(jail, observed),
        fields=status.fields(resource, parts, conditions, observed),
        workers=observed.workers,
        wanted=wanted,
    )


def _requeue(jail: jails.Jail, observed: Observed) -> float | None:
    again = observed.workers.look_again if observed.workers else None
    return _SOON if jail.job and jail.usable else again


def _populate(wanted: Cluster, jail: jails.Jail) -> tuple[tuple[Desired, ...], tuple[Problem, ...]]:
    if not jail.job:
        return (), ()
    try:
        return (job(wanted),), ()
    except SpecError as error:
        return (), (Problem("InvalidSpec", f"{error}."),)


def _pods_left(parts: tuple[Component, ...], observed: Observed) -> int:
    rollouts = (observed.rollouts.get(each.workload) for each in parts if each.workload)
    return sum(each.replicas for each in rollouts if each)


def _unreadable(error: SpecError) -> ClusterPlan:
    problem = Problem("InvalidSpec", f"{error}.")
    said = [
        Condition(each, "Unknown", problem.reason, problem.message)
        for name, each in status.CONDITIONS.items()
        if name != names.NODESET
    ]
    return ClusterPlan(
        desired=(),
        conditions=(*said, degraded([problem])),
        fields={"phase": status.PHASE_NOT_AVAILABLE},
    )
