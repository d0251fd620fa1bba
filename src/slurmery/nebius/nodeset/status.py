"""How a NodeSet stands: phase, conditions, counts."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from slurmery.api.nebius import NodeSet
from slurmery.doors.conditions import Condition, Problem, degraded
from slurmery.nebius.crew.decide import words
from slurmery.nebius.nodeset import build
from slurmery.nebius.nodeset.observed import Observed

CONFIG: Final = "ConfigUpdated"
PODS_UPDATED: Final = "StatefulSetUpdated"
PODS_READY: Final = "PodsReady"
TERMINATED: Final = "StatefulSetTerminated"


@dataclass(frozen=True)
class Standing:
    """How the workers stand in numbers, and what is waited for."""

    wanted: int
    ready: int
    updated: int
    left: int
    phase: str
    selector: str
    waits: str
    problems: Sequence[Problem]
    deleting: bool


def standing(observed: Observed, problems: Sequence[Problem]) -> Standing:
    """The numbers."""
    whole, decision = observed.whole, observed.decision
    workers = decision.workers if decision else ()
    squad = whole.squad if whole else None
    wanted = _wanted(observed)
    leaving = {wait.pod for wait in decision.plan.waits} if decision else set()
    updated = sum(not each.terminating and each.pod not in leaving for each in workers)
    ready = sum(each.healthy for each in workers)
    pairs = sorted(build.selector(whole.cluster, whole.workers).items()) if whole else ()
    deleting = bool(squad and squad.deleting)
    told = words(decision.plan.waits, observed.silence) if decision else ""
    return Standing(
        wanted=wanted,
        ready=ready,
        updated=updated,
        left=sum(not each.terminating for each in workers),
        phase=_phase(observed, problems, deleting=deleting, complete=ready == wanted),
        selector=",".join(f"{name}={value}" for name, value in pairs),
        waits=f" {observed.waits or told}" if observed.waits or told else "",
        problems=problems,
        deleting=deleting,
    )


def _wanted(observed: Observed) -> int:
    squad = observed.whole.squad if observed.whole else None
    if squad is None or squad.deleting:
        return 0
    return len(squad.ordinals) if squad.ordinals is not None else squad.replicas


def _phase(observed: Observed, problems: Sequence[Problem], *, deleting: bool, complete: bool) -> str:
    if deleting:
        return "Terminating"
    if observed.whole is None:
        return "Pending"
    if problems:
        return "Degraded"
    if observed.waits:
        return "Configuring"
    return "Ready" if complete else "Provisioning"


def conditions(standing: Standing) -> tuple[Condition, ...]:
    """What is true of it, and degraded by its problems."""
    if standing.problems:
        first = standing.problems[0]
        said = [Condition(kind, "False", first.reason, first.message) for kind in (CONFIG, PODS_UPDATED)]
    else:
        said = [Condition(CONFIG, "True", "Applied", "All objects are as the spec says."), _updated(standing)]
    return (*said, _ready(standing), _terminated(standing), degraded(standing.problems))


def _updated(standing: Standing) -> Condition:
    done = standing.updated == standing.wanted and not standing.waits
    words = f"{standing.updated} of {standing.wanted} pods are as the spec says.{standing.waits}"
    return Condition(PODS_UPDATED, "True" if done else "False", "UpToDate" if done else "Updating", words)


def _ready(standing: Standing) -> Condition:
    done = standing.ready == standing.wanted
    words = f"{standing.ready} of {standing.wanted} pods are ready.{standing.waits}"
    return Condition(PODS_READY, "True" if done else "False", "Ready" if done else "NotReady", words)


def _terminated(standing: Standing) -> Condition:
    if standing.wanted or standing.left:
        return Condition(TERMINATED, "False", "Running", f"{standing.left} pods are there.")
    return Condition(TERMINATED, "True", "NoPods", "No pod is wanted, and none is there.")


def fields(nodeset: NodeSet, standing: Standing) -> dict[str, Any]:
    """Phase and counts."""
    return {
        "phase": standing.phase,
        "replicas": standing.ready,
        "labelSelector": standing.selector,
        "observedGeneration": nodeset.metadata.generation or 0,
    }
