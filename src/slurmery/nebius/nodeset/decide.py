"""From a NodeSet and what is observed to what should be: pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from slurmery.api.nebius import NodeSet
from slurmery.doors.conditions import Problem
from slurmery.doors.plan import Plan
from slurmery.kube.desired import Desired
from slurmery.nebius.errors import SpecError
from slurmery.nebius.nodeset import build, status
from slurmery.nebius.nodeset.observed import Observed, Whole
from slurmery.slurmconf.text import TextError


@dataclass(frozen=True)
class NodeSetPlan(Plan):
    """A plan, the status beside the conditions, and what is to be done with the workers."""

    fields: Mapping[str, Any] = field(default_factory=dict)
    seen: Observed | None = None


def decide(nodeset: NodeSet, observed: Observed) -> NodeSetPlan:
    """What should exist now, and what to say about it. Without a cluster, all stays as it is."""
    desired, problems = _desired(observed)
    standing = status.standing(observed, problems)
    again = observed.decision.look_again if observed.decision and not problems else None
    return NodeSetPlan(
        desired=desired,
        conditions=status.conditions(standing),
        requeue=again,
        fields=status.fields(nodeset, standing),
        seen=None if problems or (observed.waits and not standing.deleting) else observed,
    )


def _desired(observed: Observed) -> tuple[tuple[Desired, ...], tuple[Problem, ...]]:
    whole = observed.whole
    if whole is None:
        return (), (observed.missing,) if observed.missing else ()
    try:
        return (*_around(whole), *_pods(whole, observed)), ()
    except (SpecError, TextError) as error:
        return (), (Problem("InvalidSpec", f"{error}."),)


def _around(whole: Whole) -> tuple[Desired, ...]:
    owner, workers = whole.cluster, whole.workers
    state = build.power_state(owner, workers)
    return (
        build.limits(owner, workers),
        *build.directory(owner, workers),
        *build.access(owner, workers, range(workers.spec.replicas)),
        build.service(owner, workers),
        *((state,) if state else ()),
    )


def _pods(whole: Whole, observed: Observed) -> tuple[Desired, ...]:
    # A spec of which no pod can be made must be refused whoever makes the pods.
    replicas = observed.decision.replicas if observed.decision else whole.workers.spec.replicas
    made = build.stateful_set(whole.cluster, whole.workers, replicas, whole.versions)
    return () if observed.waits or whole.workers.spec.ephemeral_nodes else (made,)
