"""From pods and Slurm's last word to workers, as the lifecycle engine looks at them. Pure.

A pod bears `slurmery/registered` from when Slurm first knew the worker: a slurmctld that lost its state knows
none, and a pod that was never known cannot have jobs.
"""

from typing import Final

import msgspec

from slurmery.doors import marks
from slurmery.doors.hearing import Slurm
from slurmery.doors.pods import WorkerPod
from slurmery.slurm.model import Node
from slurmery.workers.model import Worker

REGISTERED: Final = "slurmery/registered"
_REVISION: Final = "controller-revision-hash"
_RUNNING: Final = "Running"
_POWERED_DOWN: Final = frozenset({"POWERING_DOWN", "POWERED_DOWN"})


def observe(pod: WorkerPod, slurm: Slurm, *, forced: bool) -> Worker:
    """The worker of a pod; `forced` is whether a person said of all of them that jobs do not matter."""
    name, notes, since = pod.metadata.name, pod.annotations, pod.ready_since
    node, phase = _heard(slurm, name), pod.status.phase or "Pending"
    known = node is not None and (node.is_busy or phase == _RUNNING)
    return Worker(
        pod=name,
        slurm_name=name,
        slot=ordinal(name),
        revision=pod.labels.get(_REVISION, ""),
        host=pod.spec.node_name,
        phase=phase,
        ready=since is not None,
        available=since is not None,
        ready_since=since or 0.0,
        created=pod.metadata.creation_timestamp.timestamp() if pod.metadata.creation_timestamp else 0.0,
        terminating=pod.deleting,
        leaving=marks.leaving(notes),
        forced=forced or marks.forced(notes),
        registered_once=known or REGISTERED in notes,
        fresh=slurm.fresh(name),
        slurm=node,
    )


def _heard(slurm: Slurm, name: str) -> Node | None:
    """What Slurm says; on a node that it powers down, nothing new starts either, and a drain would outlast
    the pod."""
    node = slurm.node(name)
    if node and not node.has_drain and not _POWERED_DOWN.isdisjoint(node.state):
        return msgspec.structs.replace(node, state=(*node.state, "DRAIN"))
    return node


def arrived(pod: WorkerPod, worker: Worker) -> bool:
    """Whether Slurm knows the worker, and its pod does not say so yet."""
    runs = worker.phase == _RUNNING and not worker.terminating
    return runs and worker.slurm is not None and REGISTERED not in pod.annotations


def ordinal(pod: str) -> int:
    """The number at the end of a pod's name; none is a pod of no StatefulSet."""
    digits = pod.rpartition("-")[2]
    return int(digits) if digits.isdecimal() else -1
