"""What the caches of health keep of the pods that run slurmd."""

from collections.abc import Iterable

from slurmery.health.hosts import Part, Said
from slurmery.health.ref import Ref
from slurmery.kube.meta import Key, View
from slurmery.nebius import names as nebius
from slurmery.nebius.kinds import SLURM_CLUSTERS
from slurmery.slinky import names as slinky
from slurmery.slinky.kinds import CONTROLLERS
from slurmery.slinky.nodeset.observe import DAEMON_SET, STATE_PREFIX


class _Resources(Part, frozen=True, gc=False):
    limits: dict[str, str | int] | None = None


class _Container(Part, frozen=True, gc=False):
    resources: _Resources = _Resources()


class _PodSpec(Part, frozen=True, gc=False):
    node_name: str = ""
    hostname: str = ""
    host_network: bool = False
    containers: tuple[_Container, ...] = ()
    init_containers: tuple[_Container, ...] | None = None


class _PodStatus(Part, frozen=True, gc=False):
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
