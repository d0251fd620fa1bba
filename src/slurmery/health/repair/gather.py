"""What is known of one Kubernetes node: itself, its Slurm workers, and how many others are away.

A worker is where its pod is; one without a pod, because it was evicted, say, is where Slurm last saw it: at
the node that its instance id names.
"""

import math
from collections.abc import Iterable, Mapping

from slurmery.health.clusters import Slurms
from slurmery.health.ref import Ref
from slurmery.health.repair.machines import Machines
from slurmery.health.repair.model import Worker
from slurmery.health.repair.policy import NOT_READY_REASON, REPLACEMENT_REASON, Policy
from slurmery.health.views import WorkerPod
from slurmery.health.workers import WorkerPods
from slurmery.slurm.model import Node

# The nodes of one answer of Slurm's, by the machine that they name.
_Names = Mapping[str, tuple[str, ...]]


class Gather:
    """Reads the caches and Slurm's last words; asks nobody."""

    def __init__(self, machines: Machines, pods: WorkerPods, slurms: Slurms, policy: Policy) -> None:
        self._machines = machines
        self._pods = pods
        self._slurms = slurms
        self._policy = policy
        self._by_instance: dict[Ref, tuple[object, _Names]] = {}
        self._lost: tuple[object, frozenset[str]] = None, frozenset()

    def workers(self, host: str) -> tuple[Worker, ...]:
        """The Slurm nodes on a Kubernetes node."""
        found = {(pod.cluster, pod.slurm_name): pod for pod in self._pods.on(host)}
        workers = [self._worker(*each, pod) for each, pod in found.items()]
        for cluster in self._slurms.all():
            for name in self._named(cluster).get(host, ()):
                pod = self._pods.of(cluster, name)
                if (cluster, name) not in found and not (pod and pod.spec.node_name):
                    workers.append(self._worker(cluster, name, pod))
        return tuple(sorted(workers, key=lambda each: (str(each.cluster), each.name)))

    def host_of(self, cluster: Ref, name: str) -> str:
        """The Kubernetes node of a Slurm node, empty if it has none."""
        pod = self._pods.of(cluster, name)
        if pod and pod.spec.node_name:
            return pod.spec.node_name
        node = self._slurms.snapshot(cluster).nodes.get(name)
        return node.instance_id if node else ""

    def away(self, host: str) -> int:
        """How many other nodes are in the hands of repairers, or deleted and not back yet."""
        return len((self._machines.held | self._missing()) - {host})

    def _worker(self, cluster: Ref, name: str, pod: WorkerPod | None) -> Worker:
        known = self._slurms.known(cluster)
        about = self._slurms.about(cluster, name)
        node = about.node(name)
        placed = pod.placed_since if pod else 0.0
        if node is None:
            # Slurm may have lost its memory: then slurmd, where it runs, has jobs that it will tell of.
            free = known and not (pod and pod.may_run_jobs)
            return Worker(cluster, name, free, drains=free, drained=free, busy=not free, placed_since=placed)
        return Worker(
            cluster,
            name,
            known=known,
            drains=node.has_drain,
            drained=node.is_drained and about.fresh(name),
            busy=node.is_busy,
            reason=node.reason,
            reason_since=node.reason_changed_at or math.inf,
            placed_since=placed,
        )

    def _named(self, cluster: Ref) -> _Names:
        """Which Slurm nodes name which machine; worked out once for each answer of Slurm's."""
        nodes = self._slurms.snapshot(cluster).nodes.entries
        known = self._by_instance.get(cluster)
        if known is None or known[0] is not nodes:
            known = self._by_instance[cluster] = nodes, _by_instance(nodes.values())
        return known[1]

    def _missing(self) -> frozenset[str]:
        """The machines that were deleted for a repair and have not been replaced, by their old names."""
        clusters = self._slurms.all()
        answers = tuple(self._slurms.snapshot(each).nodes.entries for each in clusters)
        state = (self._machines.there, *map(id, answers))
        if self._lost[0] != state:
            lost = (
                self._where(cluster, node)
                for cluster, nodes in zip(clusters, answers, strict=True)
                for node in nodes.values()
                if node.has_drain and self._policy.goes(node.reason)
            )
            self._lost = state, frozenset(name for name in lost if name and not self._machines.get(name))
        return self._lost[1]

    def _where(self, cluster: Ref, node: Node) -> str:
        """The machine, or the worker itself if it waits for one."""
        ours = node.reason in (REPLACEMENT_REASON, NOT_READY_REASON) or self._pods.of(cluster, node.name)
        return self.host_of(cluster, node.name) or (f"{cluster} {node.name}" if ours else "")


def _by_instance(nodes: Iterable[Node]) -> _Names:
    found: dict[str, tuple[str, ...]] = {}
    for node in nodes:
        if node.instance_id:
            found[node.instance_id] = (*found.get(node.instance_id, ()), node.name)
    return found
