"""Kubernetes nodes as those see and mark them who repair them: the checks, and the rebooter on the node.

The rebooter is on every node: whatever is imported here costs memory there.
"""

from datetime import UTC, datetime
from typing import Any

import msgspec

from slurmery.health.repair.model import Condition, SetCondition
from slurmery.kube.meta import View


class Part(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """A part of an object, with its fields in Kubernetes' spelling."""


class Said(Part, frozen=True, gc=False):
    """A condition."""

    type: str
    status: str
    reason: str = ""
    message: str = ""
    last_transition_time: datetime | None = None

    @property
    def since(self) -> float:
        return self.last_transition_time.timestamp() if self.last_transition_time else 0.0


class _Address(Part, frozen=True, gc=False):
    type: str
    address: str


class _Port(msgspec.Struct, frozen=True, gc=False):
    port: int = msgspec.field(name="Port", default=0)


class _Endpoints(Part, frozen=True, gc=False):
    kubelet_endpoint: _Port = _Port()


class _Spec(Part, frozen=True, gc=False):
    unschedulable: bool = False


class _Status(Part, frozen=True, gc=False):
    conditions: tuple[Said, ...] | None = None
    addresses: tuple[_Address, ...] | None = None
    daemon_endpoints: _Endpoints = _Endpoints()


class Host(View, frozen=True, gc=False):
    """A Kubernetes node."""

    spec: _Spec = _Spec()
    status: _Status = _Status()

    @property
    def said(self) -> tuple[Said, ...]:
        """Its conditions in their order."""
        return self.status.conditions or ()

    @property
    def conditions(self) -> dict[str, Condition]:
        """Its conditions by type, as decisions look at them."""
        return {
            each.type: Condition(each.status, each.reason, each.message, each.since) for each in self.said
        }

    @property
    def address(self) -> str:
        """Where its kubelet answers."""
        found = {each.type: each.address for each in self.status.addresses or ()}
        return found.get("InternalIP") or found.get("Hostname") or self.metadata.name

    @property
    def kubelet_port(self) -> int:
        """The kubelet's port; 0 if it does not name one."""
        return self.status.daemon_endpoints.kubelet_endpoint.port


def marked(host: Host, mark: SetCondition) -> dict[str, Any]:
    """The strategic patch of a node's status that sets one condition and leaves all others alone.

    It fits this very node: one that came under the same name is refused with a conflict.
    """
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    condition: dict[str, Any] = {**mark._asdict(), "lastHeartbeatTime": now}
    before = host.conditions.get(mark.type)
    if before is None or before.status != mark.status:
        condition["lastTransitionTime"] = now
    return {"metadata": {"uid": host.metadata.uid}, "status": {"conditions": [condition]}}
