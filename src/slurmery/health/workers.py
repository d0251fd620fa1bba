"""The pods of both front doors that run slurmd: where they are, and which Slurm node each of them is."""

from collections.abc import Callable, Sequence
from typing import Final

from slurmery.doors.cache import Cache
from slurmery.health.ref import Ref
from slurmery.health.views import WorkerPod
from slurmery.kube.controller import Controller
from slurmery.kube.meta import Key, Selection
from slurmery.kube.resources import PODS
from slurmery.kube.runtime import Runtime
from slurmery.nebius import names as nebius
from slurmery.slinky import names as slinky

_PLACE: Final = "place"
_WORKER: Final = "worker"

_NEBIUS: Final = (
    f"{nebius.NAME_LABEL}={nebius.APPLICATION},{nebius.MANAGED_BY_LABEL}={nebius.OPERATOR},"
    f"{nebius.COMPONENT_LABEL} in ({nebius.WORKER},{nebius.NODESET})"
)
_SLINKY: Final = f"{slinky.NAME_LABEL}={slinky.SLURMD.name}"


class WorkerPods:
    """The caches of these pods."""

    def __init__(self, runtime: Runtime, namespaces: Sequence[str] = ()) -> None:
        self.cache = Cache(
            [
                runtime.informer(
                    Selection(PODS, namespace, label_selector=selector),
                    WorkerPod,
                    {_PLACE: _place, _WORKER: _worker},
                )
                for namespace in namespaces or (None,)
                for selector in (_NEBIUS, _SLINKY)
            ]
        )

    def on(self, host: str) -> list[WorkerPod]:
        """Those on a Kubernetes node."""
        return self.cache.by(_PLACE, host)

    def of(self, cluster: Ref, name: str) -> WorkerPod | None:
        """The pod of a Slurm node; of several, the one that has a place."""
        found = self.cache.by(_WORKER, (cluster, name))
        return max(found, key=lambda pod: (not pod.deleting, bool(pod.spec.node_name)), default=None)

    def wakes(self, controller: Controller, relevant: Callable[[WorkerPod, WorkerPod], bool]) -> None:
        """Let changes reach a controller whose keys are Kubernetes nodes."""
        self.cache.wakes(controller, lambda pod: [Key("", each) for each in _place(pod)], relevant=relevant)


def _place(pod: WorkerPod) -> Sequence[str]:
    return (pod.spec.node_name,) if pod.spec.node_name else ()


def _worker(pod: WorkerPod) -> Sequence[tuple[Ref, str]]:
    return ((pod.cluster, pod.slurm_name),)
