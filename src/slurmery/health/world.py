"""What all health checks look at: Slurm, the pods that run slurmd, and the Kubernetes nodes below them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from slurmery.health.clusters import INTERVALS, Reach, Slurms, within
from slurmery.health.hosts import Host
from slurmery.health.workers import WorkerPods
from slurmery.kube.informer import Informer
from slurmery.kube.meta import Selection
from slurmery.kube.resources import NODES
from slurmery.kube.runtime import Runtime
from slurmery.slurm.snapshot import Part


@dataclass(frozen=True)
class World:
    """One cache of each, for all."""

    slurms: Slurms
    pods: WorkerPods
    hosts: Informer[Host]


def world(
    runtime: Runtime,
    namespaces: Sequence[str] = (),
    *,
    reach: Reach = within,
    intervals: Mapping[Part, float] = INTERVALS,
) -> World:
    """The world of these namespaces; none are all."""
    return World(
        Slurms(runtime, namespaces, reach=reach, intervals=intervals),
        WorkerPods(runtime, namespaces),
        runtime.informer(Selection(NODES), Host),
    )
