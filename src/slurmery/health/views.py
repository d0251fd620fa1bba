"""What the caches of health keep of Kubernetes nodes and of the pods that run slurmd there."""

from collections.abc import Iterable
from datetime import datetime

import msgspec

from slurmery.health.ref import Ref
from slurmery.kube.meta import Key, View
from slurmery.nebius import names as nebius
from slurmery.nebius.kinds import SLURM_CLUSTERS
from slurmery.slinky import names as slinky
from slurmery.slinky.kinds import CONTROLLERS
from slurmery.slinky.nodeset.observe import DAEMON_SET, STATE_PREFIX


class _Part(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    pass


class Said(_Part, frozen=True, gc=False):
    """A condition."""

    type: str
    status: str
    reason: str = ""
    message: str = ""
    last_transition_time: datetime | None = None

    @property
    def since(self) -> float:
        return self.last_transition_time.timestamp() if self.last_transition_time else 0.0


class _Address(_Part, frozen=True, gc=False):
    type: str
    address: str


class _Port(msgspec.Struct, frozen=True, gc=False):
    port: int = msgspec.field(name="Port", default=0)


class _Endpoints(_Part, frozen=True, gc=False):
    kubelet_endpoint: _Port = _Port()


class _HostSpec(_Part, frozen=True, gc=False):
    unschedulable: bool = False


class _HostStatus(_Part, frozen=True, gc=False):
    conditions: tuple[Said, ...] | None = None
    addresses: tuple[_Address, ...] | None = None
    daemon_endpoints: _Endpoints = _Endpoints()


class Host(View, frozen=True, gc=False):
    """A Kubernetes node."""

    spec: _HostSpec = _HostSpec()
    status: _HostStatus = _HostStatus()

    @property
    def conditions(self) -> tuple[Said, ...]:
        return self.status.conditions or ()

    @property
    def address(self) -> str:
        """Where its kubelet answers."""
        found = {each.type: each.address for each in self.status.addresses or ()}
        return found.get("InternalIP") or found.get("Hostname") or self.metadata.name

    @property
    def kubelet_port(self) -> int:
        """The kubelet's port; 0 if it does not name one."""
        return self.status.daemon_endpoints.kubelet_endpoint.port


class _Resources(_Part, frozen=True, gc=False):
    limits: dict[str, str | int] | None = None


class _Container(_Part, frozen=True, gc=False):
    resources: _Resources = _Resources()


class _PodSpec(_Part, frozen=True, gc=False):
    node_name: str = ""
    hostname: str = ""
    host_network: bool = False
    containers: tuple[_Container, ...] = ()
    init_containers: tuple[_Container, ...] | None = None


class _PodStatus(_Part, frozen=True, gc=False):
    phase: str = ""
    conditions: tuple[Said, ...] | None = None


class WorkerPod(View, frozen=True, gc=False):
    """A pod that runs slurmd, of either front door."""

    spec: _PodSpec = _PodSpec()
    status: _PodStatus = _PodStatus()

    @property
    def cluster(self) -> Ref:
        """The Slurm cluster that it belongs to."""
        namespace, labels = self.metadata.namespace, self.labels
        if labels.get(slinky.NAME_LABEL) == slinky.SLURMD.name:
            return Ref(CONTROLLERS, Key(namespace, labels.get(slinky.CLUSTER_LABEL, "")))
        return Ref(SLURM_CLUSTERS, Key(namespace, labels.get(nebius.INSTANCE_LABEL, "")))

    @property
    def slurm_name(self) -> str:
        """What Slurm calls the worker."""
        if self.spec.host_network and self.labels.get(slinky.SCALING_MODE_LABEL) != DAEMON_SET:
            return self.spec.node_name
        return self.spec.hostname or self.metadata.name

    @property
    def placed_since(self) -> float:
        """Since when it is on its node."""
        scheduled = [each.since for each in self._conditions if each.type == "PodScheduled"]
        made = self.metadata.creation_timestamp
        return max([*scheduled, made.timestamp() if made else 0.0])

    @property
    def may_run_jobs(self) -> bool:
        """Whether slurmd may be at work in it, as far as Kubernetes knows."""
        if self.status.phase in ("Succeeded", "Failed"):
            return False
        return any(
            each.type.startswith(STATE_PREFIX) or (each.type == "Ready" and each.status == "True")
            for each in self._conditions
        )

    @property
    def _conditions(self) -> Iterable[Said]:
        return self.status.conditions or ()
