"""What the caches keep of worker pods."""

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
