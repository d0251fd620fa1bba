"""What is read of the own node and of the pods on it."""

from slurmery.agents.rebooter.model import Guest, Own
from slurmery.health.hosts import Host, Part
from slurmery.kube.meta import View

CORDON = "slurmery/cordoned-by-rebooter"
_MIRROR = "kubernetes.io/config.mirror"


def own(host: Host) -> Own:
    """What is decided on."""
    return Own(host.conditions, host.spec.unschedulable, CORDON in host.annotations)


class _PodStatus(Part, frozen=True, gc=False):
    phase: str = ""


class Pod(View, frozen=True, gc=False):
    """A pod on the node."""

    status: _PodStatus = _PodStatus()

    @property
    def guest(self) -> Guest:
        """What is decided on: a DaemonSet would bring its pod back, a kubelet its own."""
        owner = self.controller
        stays = (
            (owner is not None and owner.kind == "DaemonSet")
            or _MIRROR in self.annotations
            or self.status.phase in {"Succeeded", "Failed"}
        )
        return Guest(self.key, self.metadata.uid, stays, self.deleting)


def not_only_heartbeat(old: Host, new: Host) -> bool:
    """Relevant if more changed than the times of the kubelet's reports."""
    return own(old) != own(new)
