"""How a NodeSet stands, in numbers and sentences, and what Slurm's word puts on its pods."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from slurmery.api.slinky import NodeSet
from slurmery.doors.conditions import PROGRESSING, Condition, Problem, Rollout, degraded, progressing, ready
from slurmery.doors.pods import WorkerPod
from slurmery.slinky import names
from slurmery.slinky.nodeset.observe import STATE_PREFIX
from slurmery.slinky.nodeset.pins import Pins
from slurmery.workers.model import Wait, Worker

_PODS: Final = "slurmd"
_TOLD: Final = 3
_PROTECTED: Final = "true"

# Slurm's states and flags, and how the conditions of pods spell them.
_STATES: Final[Mapping[str, str]] = {
    "ALLOCATED": "Allocated",
    "DOWN": "Down",
    "ERROR": "Error",
    "FUTURE": "Future",
    "IDLE": "Idle",
    "MIXED": "Mixed",
    "UNKNOWN": "Unknown",
    "COMPLETING": "Completing",
    "DRAIN": "Drain",
    "FAIL": "Fail",
    "INVALID": "Invalid",
    "INVALID_REG": "InvalidReg",
    "MAINTENANCE": "Maintenance",
    "NOT_RESPONDING": "NotResponding",
    "UNDRAIN": "Undrain",
}


@dataclass(frozen=True)
class Standing:
    """What is to be told. `pins` is None where there are none; `asked` says whether Slurm ever answered."""

    workers: Sequence[Worker]
    desired: int
    revision: str
    collisions: int = 0
    waits: Sequence[Wait] = ()
    problems: Sequence[Problem] = ()
    blocked: Sequence[Problem] = ()
    pins: Pins | None = None
    asked: bool = True


def fields(nodeset: NodeSet, standing: Standing) -> dict[str, Any]:
    """The fields of the status beside the conditions; None for one that must not be there."""
    workers, desired = standing.workers, standing.desired
    available = sum(worker.available and not worker.terminating for worker in workers)
    before = nodeset.status.ordinal_to_node if nodeset.status else {}
    # A pin that no longer holds is taken out by name: the status is merged, not replaced.
    pins = {**dict.fromkeys(before), **standing.pins} if standing.pins is not None else None
    selected = sorted(names.selector(names.SLURMD, nodeset.metadata.name).items())
    return {
        "replicas": len(workers),
        "updatedReplicas": _updated(standing),
        "readyReplicas": sum(worker.healthy for worker in workers),
        "availableReplicas": available,
        "unavailableReplicas": max(desired - available, 0),
        "desired": desired,
        **(_counters(workers) if standing.asked else {}),
        "observedGeneration": nodeset.metadata.generation,
        "nodeSetHash": standing.revision,
        "collisionCount": standing.collisions or None,
        "ordinalToNode": pins or None,
        "selector": ",".join(f"{label}={value}" for label, value in selected),
    }


def conditions(nodeset: NodeSet, standing: Standing) -> tuple[Condition, ...]:
    """Ready, Progressing and Degraded."""
    generation, blocked = nodeset.metadata.generation, standing.blocked
    healthy = sum(worker.healthy for worker in standing.workers)
    rollout = Rollout(generation, generation, len(standing.workers), healthy, _updated(standing))
    return (
        ready(rollout, standing.desired, _PODS, blocked=blocked),
        _waiting(nodeset, standing) or progressing(rollout, standing.desired, _PODS, blocked=blocked),
        degraded([*blocked, *standing.problems]),
    )


def pod_conditions(worker: Worker, pod: WorkerPod, now: str) -> dict[str, Any] | None:
    """The patch that makes a pod's status say what Slurm says of its node; None if it does.

    Without a fresh word it stays as it is. Of a node that Slurm has forgotten, Unknown remains, so that it is
    known to have been there.
    """
    if not worker.fresh:
        return None
    wanted = _said(worker)
    present = {each.type: each for each in pod.conditions if each.type.startswith(STATE_PREFIX)}
    changed: list[dict[str, Any]] = [
        {"type": kind, "status": "True", "message": message, "lastTransitionTime": now}
        for kind, message in wanted.items()
        if kind not in present or (present[kind].status, present[kind].message) != ("True", message)
    ]
    stale = [{"$patch": "delete", "type": kind} for kind in present if kind not in wanted]
    return {"status": {"conditions": [*changed, *stale]}} if changed or stale else None


def protection(nodeset: NodeSet, worker: Worker, pod: WorkerPod) -> dict[str, str | None] | None:
    """The label that keeps others from evicting a busy worker, or lets them; None if nothing changes.

    What was protected stays so for as long as nobody can tell whether it is busy.
    """
    protected = pod.labels.get(names.POD_PROTECT_LABEL) == _PROTECTED
    if not nodeset.spec.workload_disruption_protection:
        wanted = False
    elif worker.fresh and worker.slurm:
        wanted = worker.slurm.is_busy
    else:
        return None
    if wanted == protected:
        return None
    return {names.POD_PROTECT_LABEL: _PROTECTED if wanted else None}


def _updated(standing: Standing) -> int:
    return sum(each.revision == standing.revision and not each.terminating for each in standing.workers)


def _counters(workers: Sequence[Worker]) -> dict[str, int]:
    nodes = [worker.slurm for worker in workers if worker.slurm]
    return {
        "slurmIdle": sum(node.base_state == "IDLE" for node in nodes),
        "slurmAllocated": sum(node.base_state in ("ALLOCATED", "MIXED") for node in nodes),
        "slurmDown": sum(node.base_state == "DOWN" for node in nodes),
        "slurmDrain": sum(node.has_drain for node in nodes),
    }


def _waiting(nodeset: NodeSet, standing: Standing) -> Condition | None:
    if not standing.waits:
        return None
    told = [f"{wait.pod}: {wait.why}" for wait in standing.waits[:_TOLD]]
    more = len(standing.waits) - len(told)
    message = "; ".join([*told, f"and {more} more"] if more else told)
    going = nodeset.metadata.deletion_timestamp is not None
    return Condition(PROGRESSING, "True", "DeletionWaits" if going else "Waiting", f"{message}.")


def _said(worker: Worker) -> dict[str, str]:
    node = worker.slurm
    if node is None:
        unknown = {f"{STATE_PREFIX}Unknown": "Slurm does not know the node any longer"}
        return unknown if worker.registered_once else {}
    return {f"{STATE_PREFIX}{_STATES[state]}": node.reason for state in node.state if state in _STATES}
