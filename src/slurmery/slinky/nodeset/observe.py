"""From pods, Kubernetes nodes and Slurm's last word to workers, as the lifecycle engine looks at them."""

import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from slurmery.api.slinky import NodeSet
from slurmery.doors.hearing import Slurm
from slurmery.doors.marks import forced, leaving
from slurmery.doors.pods import WorkerPod
from slurmery.slinky import names
from slurmery.slinky.nodeset import marks
from slurmery.slinky.nodeset.revision import outdated
from slurmery.slinky.nodeset.views import Host
from slurmery.workers.model import Slot, Worker

STATE_PREFIX: Final = "SlurmNodeState"
_REASON_LENGTH: Final = 256
DAEMON_SET: Final = "DaemonSet"


@dataclass(frozen=True)
class Scene:
    """All that workers are made of. `now` is Unix time; `propagated` are node conditions to tell Slurm of."""

    nodeset: NodeSet
    revision: str
    contents: Mapping[str, str]
    hosts: Mapping[str, Host]
    slurm: Slurm
    now: float
    propagated: Sequence[str] = ()


def observe(scene: Scene, pods: Iterable[WorkerPod]) -> tuple[Worker, ...]:
    """One worker for each pod."""
    return tuple(_worker(scene, pod) for pod in pods)


def of_mode(nodeset: NodeSet, pod: WorkerPod) -> bool:
    """Whether a pod was made in the scaling mode that is wanted now."""
    mode = nodeset.spec.scaling_mode
    return pod.labels.get(names.SCALING_MODE_LABEL, mode) == mode


def slurm_name(nodeset: NodeSet, pod: WorkerPod) -> str:
    """What Slurm calls the worker."""
    mode = pod.labels.get(names.SCALING_MODE_LABEL, nodeset.spec.scaling_mode)
    if mode != DAEMON_SET and pod.spec.host_network:
        return pod.spec.node_name
    return pod.spec.hostname or pod.metadata.name


def host_reason(host: Host | None, propagated: Sequence[str] = ()) -> str | None:
    """Why a Kubernetes node is cordoned, empty if nobody says; None if it is not."""
    if host is None or not host.spec.unschedulable:
        return None
    given = _sanitised(host.annotations.get(names.NODE_CORDON_REASON, ""))
    said = {each.type: each for each in host.status.conditions or () if each.status == "True"}
    troubles = [f"({said[kind].reason}: {said[kind].message})" for kind in propagated if kind in said]
    return given or _sanitised("; ".join(troubles))


def slot_of(nodeset: NodeSet, pod: WorkerPod) -> Slot:
    """The number of the worker, or the Kubernetes node that it is for; a pod that has none fills none."""
    if nodeset.spec.scaling_mode == DAEMON_SET:
        return pod.spec.node_name or _destination(pod) or pod.metadata.name
    digits = pod.labels.get(names.POD_INDEX_LABEL) or pod.metadata.name.rpartition("-")[2]
    return int(digits) if digits.isdecimal() else pod.metadata.name


def _worker(scene: Scene, pod: WorkerPod) -> Worker:
    nodeset, notes = scene.nodeset, pod.annotations
    name = slurm_name(nodeset, pod)
    node = scene.slurm.node(name)
    since = pod.ready_since
    return Worker(
        pod=pod.metadata.name,
        slurm_name=name,
        slot=slot_of(nodeset, pod) if of_mode(nodeset, pod) else pod.metadata.name,
        revision="" if _old(scene, pod) else scene.revision,
        host=pod.spec.node_name,
        phase=pod.status.phase or "Pending",
        ready=since is not None,
        available=since is not None and scene.now >= since + nodeset.spec.min_ready_seconds,
        ready_since=since or 0.0,
        created=pod.metadata.creation_timestamp.timestamp() if pod.metadata.creation_timestamp else 0.0,
        terminating=pod.deleting,
        leaving=leaving(notes),
        cordoned=marks.cordoned(notes),
        host_reason=host_reason(scene.hosts.get(pod.spec.node_name), scene.propagated),
        deletion_cost=_number(notes.get(names.POD_DELETION_COST, "")),
        deadline=_time(notes.get(names.POD_DEADLINE, "")),
        forced=forced(notes, nodeset.metadata.annotations),
        registered_once=node is not None
        or any(each.type.startswith(STATE_PREFIX) for each in pod.conditions),
        fresh=scene.slurm.fresh(name),
        slurm=node,
    )


def _old(scene: Scene, pod: WorkerPod) -> bool:
    """Whether the pod must be made anew: of another revision, or not called as its node is called by now."""
    if outdated(pod.labels, pod.annotations, scene.revision, scene.contents):
        return True
    host = scene.hosts.get(pod.spec.node_name)
    if scene.nodeset.spec.scaling_mode != DAEMON_SET or host is None:
        return False
    expected = host.annotations.get(names.HOSTNAME_OVERRIDE) or host.metadata.name.partition(".")[0]
    return pod.labels.get(names.POD_HOSTNAME_LABEL, expected) != expected


def _destination(pod: WorkerPod) -> str:
    """The node that a daemon pod waits to be scheduled to."""
    affinity: Any = (pod.spec.affinity or {}).get("nodeAffinity") or {}
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution") or {}
    for term in required.get("nodeSelectorTerms") or ():
        for each in term.get("matchFields") or ():
            if each.get("key") == "metadata.name" and each.get("values"):
                return str(each["values"][0])
    return ""


def _sanitised(text: str) -> str:
    spaced = (" " if letter in "\t\n\r" else letter for letter in text)
    return "".join(letter for letter in spaced if unicodedata.category(letter) != "Cc").strip()[
        :_REASON_LENGTH
    ]


def _number(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        return 0


def _time(text: str) -> float | None:
    try:
        when = datetime.fromisoformat(text)
    except ValueError:
        return None
    return when.timestamp() if when.tzinfo else None
