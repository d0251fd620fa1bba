"""What the caches keep of worker pods and of the Kubernetes nodes that they run on."""

from datetime import datetime
from typing import Any

import msgspec

from slurmery.kube.meta import ObjectMeta, View


class _Part(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    pass


class PodCondition(_Part, frozen=True, gc=False):
    """One thing that is said of a pod."""

    type: str
    status: str
    message: str = ""
    last_transition_time: datetime | None = None


class _PodSpec(_Part, frozen=True, gc=False):
    node_name: str = ""
    hostname: str = ""
    host_network: bool = False
    affinity: dict[str, Any] | None = None


class _PodStatus(_Part, frozen=True, gc=False):
    phase: str = ""
    conditions: tuple[PodCondition, ...] | None = None


class PodMeta(ObjectMeta, frozen=True, gc=False):
    """Metadata with what the server was to make the name from."""

    generate_name: str = ""


class WorkerPod(View, frozen=True, gc=False):
    """A pod that runs slurmd."""

    metadata: PodMeta
    spec: _PodSpec = _PodSpec()
    status: _PodStatus = _PodStatus()

    @property
    def conditions(self) -> tuple[PodCondition, ...]:
        return self.status.conditions or ()

    @property
    def ready_since(self) -> float | None:
        """Unix seconds; None while it is not ready."""
        for each in self.conditions:
            if each.type == "Ready" and each.status == "True":
                return each.last_transition_time.timestamp() if each.last_transition_time else 0.0
        return None


class Taint(_Part, frozen=True, gc=False):
    """What keeps pods off a node unless they tolerate it."""

    key: str
    effect: str
    value: str = ""


class HostCondition(_Part, frozen=True, gc=False):
    """One thing that is said of a Kubernetes node."""

    type: str
    status: str
    reason: str = ""
    message: str = ""


class _HostSpec(_Part, frozen=True, gc=False):
    unschedulable: bool = False
    taints: tuple[Taint, ...] | None = None


class _HostStatus(_Part, frozen=True, gc=False):
    conditions: tuple[HostCondition, ...] | None = None


class Host(View, frozen=True, gc=False):
    """A Kubernetes node."""

    spec: _HostSpec = _HostSpec()
    status: _HostStatus = _HostStatus()


def not_only_heartbeat(old: Host, new: Host) -> bool:
    """Relevant if more changed than the time of the kubelet's last report, which comes every few seconds."""
    return _facts(old) != _facts(new)


def _facts(host: Host) -> tuple[object, ...]:
    return host.metadata.uid, host.deleting, host.labels, host.annotations, host.spec, host.status
