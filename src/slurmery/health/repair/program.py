"""What wakes the repair: nodes whose conditions change, workers that come and go, and Slurm."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from slurmery.health.hosts import Host
from slurmery.health.repair import policy as names
from slurmery.health.repair.act import Act
from slurmery.health.repair.gather import Gather
from slurmery.health.repair.machines import Machines
from slurmery.health.repair.model import Half
from slurmery.health.repair.policy import Policy
from slurmery.health.repair.reconcile import Reconcile
from slurmery.health.views import WorkerPod
from slurmery.health.world import World
from slurmery.kube.controller import Controller, unreported
from slurmery.kube.runtime import Runtime

_LOOKED_AT: Final = frozenset({names.READY, *names.OWN})


@dataclass(frozen=True)
class Repair:
    """The repair of nodes under a policy, or the half of it that is wanted."""

    policy: Policy = field(default_factory=Policy)
    halves: frozenset[Half] = frozenset(Half)
    time_limit: float = 180.0

    def wire(self, runtime: Runtime, world: World) -> None:
        """Give the runtime its controller."""
        machines, pods, slurms = Machines(world.hosts), world.pods, world.slurms
        gather = Gather(machines, pods, slurms, self.policy)
        recorder = runtime.recorder("soperatorchecks")
        act = Act(runtime.client, slurms, machines, recorder, self.halves)
        reconcile = Reconcile(self.policy, machines, gather, slurms, act)
        controller = Controller("k8snodes", reconcile, unreported, time_limit=self.time_limit)
        machines.wakes(controller, partial(_relevant, _LOOKED_AT | self.policy.types))
        pods.wakes(controller, _moved)
        slurms.changed.append(partial(reconcile.heard, controller))
        runtime.add(controller)


def _relevant(kinds: frozenset[str], old: Host, new: Host) -> bool:
    """Of a node, only what decisions look at: kubelets report every few seconds that nothing happened."""
    return _facts(kinds, old) != _facts(kinds, new)


def _facts(kinds: frozenset[str], host: Host) -> Sequence[object]:
    said = sorted((each.type, each.status, each.reason) for each in host.said if each.type in kinds)
    return host.metadata.uid, host.deleting, host.labels, host.spec, said


def _moved(old: WorkerPod, new: WorkerPod) -> bool:
    return _place(old) != _place(new)


def _place(pod: WorkerPod) -> Sequence[object]:
    return pod.metadata.uid, pod.spec.node_name, pod.may_run_jobs, pod.status.phase
