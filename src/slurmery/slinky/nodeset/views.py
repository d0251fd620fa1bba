"""What the caches keep of Kubernetes nodes."""

import msgspec

from slurmery.kube.meta import View


class _Part(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    pass


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
