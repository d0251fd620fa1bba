"""What is read of the own node and of the pods on it."""

from datetime import datetime

import msgspec

from slurmery.agents.rebooter.model import Guest, Own
from slurmery.health.repair.model import Condition
from slurmery.kube.meta import View

CORDON = "slurmery/cordoned-by-rebooter"
_MIRROR = "kubernetes.io/config.mirror"


class _Part(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    pass


class _Condition(_Part, frozen=True, gc=False):
    type: str
    status: str
    reason: str = ""
    message: str = ""
    last_transition_time: datetime | None = None


class _NodeSpec(_Part, frozen=True, gc=False):
    unschedulable: bool = False


class _NodeStatus(_Part, frozen=True, gc=False):
    conditions: tuple[_Condition, ...] | None = None


class Node(View, frozen=True, gc=False):
    """A Kubernetes node."""

    spec: _NodeSpec = _NodeSpec()
    status: _NodeStatus = _NodeStatus()

    @property
    def own(self) -> Own:
        """What is decided on."""
        conditions = {
            each.type: Condition(
                each.status,
                each.reason,
                each.message,
                each.last_transition_time.timestamp() if each.last_transition_time else 0.0,
            )
            for each in self.status.conditions or ()
        }
        return Own(conditions, self.spec.unschedulable, CORDON in self.annotations)


class _PodStatus(_Part, frozen=True, gc=False):
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


def not_only_heartbeat(old: Node, new: Node) -> bool:
    """Relevant if more changed than the times of the kubelet's reports."""
    return old.own != new.own
