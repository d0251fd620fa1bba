"""From pods, Kubernetes nodes and Slurm's last word to workers, as the lifecycle engine looks at them.

Slurm's word counts as fresh if it is recent and clearly newer than what we last told it about that node. An
answer that crossed our drain on the way would show the node as it was before; and slurmctld counts what is
allocated at most once a second, so that right after a job has started, a node can call itself idle and
drained. That is why both its nodes and its jobs must have been listed SETTLED_SECONDS after our word, and
why a node counts as free only if neither list has a job on it.
"""

import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

import msgspec

from slurmery.api.slinky import NodeSet
from slurmery.slinky import names
from slurmery.slinky.nodeset import marks
from slurmery.slinky.nodeset.revision import outdated
from slurmery.slinky.nodeset.views import Host, WorkerPod
from slurmery.slurm.errors import GarbledError
from slurmery.slurm.model import Node
from slurmery.slurm.snapshot import NEVER, Snapshot
from slurmery.workers.model import Slot, Worker

# How old Slurm's word may be: some polls may fail, but no worker is judged by what was true a minute ago.
FRESH_SECONDS: Final = 30.0
SETTLED_SECONDS: Final = 2.0
STATE_PREFIX: Final = "SlurmNodeState"
_REASON_LENGTH: Final = 256
DAEMON_SET: Final = "DaemonSet"


@dataclass(frozen=True)
class Slurm:
    """What Slurm said last and when we last told it something, by node, both on the loop's clock."""

    snapshot: Snapshot = field(default_factory=Snapshot)
    told: Mapping[str, float] = field(default_factory=dict)
    clock: float = 0.0

    def fresh(self, name: str) -> bool:
        settled = self.told.get(name, NEVER) + SETTLED_SECONDS
        lists = (self.snapshot.nodes, self.snapshot.jobs)
        return all(each.fresh(self.clock, FRESH_SECONDS) and each.taken_at > settled for each in lists)

    def node(self, name: str) -> Node | None:
        """The node; one that calls itself free while a job is on it is made to say that it is not."""
        node = self.snapshot.nodes.get(name)
        if node and not node.is_busy and self._has_job(name):
            return msgspec.structs.replace(node, state=(*node.state, "ALLOCATED"))
        return node

    def _has_job(self, name: str) -> bool:
        try:
            return bool(self.snapshot.jobs_on(name))
        except GarbledError:
            return True  # one of the jobs, nobody knows which, may be here


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
        leaving=marks.leaving(notes),
        cordoned=marks.cordoned(notes),
        host_reason=host_reason(scene.hosts.get(pod.spec.node_name), scene.propagated),
        deletion_cost=_number(notes.get(names.POD_DELETION_COST, "")),
        deadline=_time(notes.get(names.POD_DEADLINE, "")),
        forced=marks.forced(notes, nodeset.metadata.annotations),
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
