"""The workers of all clusters: their pods as the cache shows them, and the steps that are taken with them.

marks      before anything else happens to a worker
pods       deleted to come back with a new revision; nothing of it depends on Slurm answering now
words      drains and undrains; a Slurm that hangs has kept nothing else waiting by then
"""

import asyncio
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final, NamedTuple

from slurmery.doors.cache import Cache
from slurmery.doors.concurrency import concurrently, tolerantly
from slurmery.doors.conditions import Problem
from slurmery.doors.hearing import Slurm
from slurmery.doors.marks import LEAVING
from slurmery.doors.pods import WorkerPod
from slurmery.doors.views import Workload
from slurmery.doors.words import Told, tell, words
from slurmery.kube.client import Client
from slurmery.kube.controller import Controller
from slurmery.kube.errors import AlreadyExistsError
from slurmery.kube.meta import Key, Manifest, Selection
from slurmery.kube.resources import PODS
from slurmery.kube.runtime import Wing
from slurmery.nebius import names
from slurmery.nebius.crew.decide import Decision, Squad, decide, deletions
from slurmery.nebius.crew.observe import REGISTERED, observe, ordinal
from slurmery.nebius.links import Links
from slurmery.slurm.snapshot import Part
from slurmery.workers.model import Slot, Wait
from slurmery.workers.safety import objection

_CLUSTER: Final = "cluster"
_SELECTOR: Final = (
    f"{names.NAME_LABEL}={names.APPLICATION},{names.COMPONENT_LABEL} in ({names.WORKER},{names.NODESET})"
)
# Seconds for which changes of pods are gathered: a pass looks at all of them.
_PAUSE: Final = 0.05
_PAUSE_PER_POD: Final = 0.001
_LONGEST_PAUSE: Final = 5.0


class _Whose(NamedTuple):
    cluster: Key
    nodeset: str


class Crew:
    """All workers of the namespaces that are looked after."""

    def __init__(
        self, wing: Wing, namespaces: Sequence[str], stateful_sets: Cache[Workload], links: Links
    ) -> None:
        self.links = links
        self._client: Client = wing.client
        self._stateful_sets = stateful_sets
        self._trouble: dict[Key, str] = {}
        self._told: dict[Key, Told] = defaultdict(Told)
        self._restless: set[_Whose] = set()
        self._pods = Cache(
            [
                wing.informer(
                    Selection(PODS, namespace, label_selector=_SELECTOR), WorkerPod, {_CLUSTER: cluster_of}
                )
                for namespace in namespaces or (None,)
            ]
        )

    def wakes(self, clusters: Controller, nodesets: Controller) -> None:
        """Let changes of pods and of what Slurm says reach the clusters and NodeSets that wait for them."""
        self._pods.wakes(clusters, cluster_of, pause=self._pause)
        self._pods.wakes(nodesets, _nodeset_of)

        def heard(cluster: Key) -> None:
            for squad in (each for each in self._restless if each.cluster == cluster):
                if squad.nodeset:
                    nodesets.queue.add(Key(cluster.namespace, squad.nodeset))
                else:
                    clusters.queue.add(cluster)

        self.links.changed.append(heard)

    def moves(self, controller: Controller, pause: Callable[[Key], float]) -> None:
        """Let it reach a controller of clusters where workers run, and that Slurm knows them."""
        self._pods.wakes(controller, cluster_of, relevant=_moved, pause=pause)

    def hosts(self, cluster: Key) -> dict[str, str]:
        """The Kubernetes nodes that the workers of a cluster run on, by worker."""
        here = self._pods.by(_CLUSTER, cluster)
        return {pod.metadata.name: pod.spec.node_name for pod in here if pod.spec.node_name}

    def registered(self, cluster: Key) -> frozenset[str]:
        """The workers of a cluster that Slurm has known since their pods started."""
        here = self._pods.by(_CLUSTER, cluster)
        return frozenset(pod.metadata.name for pod in here if REGISTERED in pod.annotations)

    def look(self, squad: Squad) -> Decision:
        """How the workers of a StatefulSet stand, and what to do."""
        found = self._stateful_sets.get(Key(squad.cluster.namespace, squad.name))
        decision = decide(squad, self._members(squad), self._slurm(squad.cluster), found)
        change = self._restless.add if decision.restless else self._restless.discard
        change(_Whose(squad.cluster, squad.nodeset))
        return decision

    def trouble(self, cluster: Key) -> str:
        """What Slurm did not take when it was last told something."""
        return self._trouble.get(cluster, "")

    def left(self, cluster: Key, *, of_nodesets: bool = False) -> int:
        """How many workers of a cluster, or of its NodeSets, are there, and not on their way out."""
        here = [pod for pod in self._pods.by(_CLUSTER, cluster) if not pod.deleting]
        return sum(names.NODESET_LABEL in pod.labels for pod in here) if of_nodesets else len(here)

    def room(self, cluster: Key, nodeset: str) -> int:
        """How many nodes of a NodeSet Slurm must know, so that it knows each that there is a pod for."""
        return max(self.ordinals(cluster, nodeset), default=-1) + 1

    def ordinals(self, cluster: Key, nodeset: str) -> frozenset[int]:
        """The numbers of a NodeSet's workers."""
        here = self._pods.by(_CLUSTER, cluster)
        ours = (pod for pod in here if pod.labels.get(names.NODESET_LABEL) == nodeset)
        return frozenset(ordinal(pod.metadata.name) for pod in ours)

    def own_pods(self, cluster: Key, nodeset: str) -> bool:
        """Whether a NodeSet has pods without a StatefulSet."""
        here = (pod for pod in self._pods.by(_CLUSTER, cluster) if pod.controller)
        ours = (pod for pod in here if pod.labels.get(names.NODESET_LABEL) == nodeset)
        return any(pod.controller.kind == "NodeSet" for pod in ours if pod.controller)

    def staying(self, cluster: Key, *, forced: bool, nodeset: str = "") -> list[Wait]:
        """The workers of a cluster, or of one of its NodeSets, that may not go now, and why."""
        slurm = self._slurm(cluster)
        here = (
            pod
            for pod in self._pods.by(_CLUSTER, cluster)
            if not pod.deleting and nodeset in ("", pod.labels.get(names.NODESET_LABEL))
        )
        found = ((pod.metadata.name, objection(observe(pod, slurm, forced=forced))) for pod in here)
        return [Wait(name, why) for name, why in sorted(found) if why]

    async def carry_out(
        self, squad: Squad, decision: Decision, make: Callable[[Slot], Manifest] | None = None
    ) -> list[Problem]:
        """One pass. What only time or a person can mend is in the answer; `make` is how pods are made."""
        problems: list[Problem] = []
        pods, steps, at = self._members(squad), decision.plan, str(squad.cluster)
        await self._note(pods, _notes(decision), problems)
        await self._delete(pods, deletions(squad, steps), problems)
        if make:
            await self._create([make(slot) for slot in steps.create], problems)
        client = self.links.clusters.client(at)
        if client and (said := words(steps)):
            untold = await tell(client, self._told[squad.cluster], said)
            self._trouble[squad.cluster] = untold[0].message if untold else ""
            problems += untold
            self.links.clusters.poke(at, Part.NODES)
            self.links.clusters.poke(at, Part.JOBS)
        return problems

    def forget(self, cluster: Key) -> None:
        """The cluster is gone."""
        self._told.pop(cluster, None)
        self._trouble.pop(cluster, None)
        self._restless = {each for each in self._restless if each.cluster != cluster}

    def _slurm(self, cluster: Key) -> Slurm:
        snapshot = self.links.clusters.snapshot(str(cluster))
        return Slurm(snapshot, self._told[cluster].times(), asyncio.get_running_loop().time())

    def _members(self, squad: Squad) -> dict[str, WorkerPod]:
        here = self._pods.by(_CLUSTER, squad.cluster)
        ours = (pod for pod in here if pod.labels.get(names.NODESET_LABEL, "") == squad.nodeset)
        named = {pod.metadata.name: pod for pod in ours}
        return {name: pod for name, pod in sorted(named.items()) if name == f"{squad.name}-{ordinal(name)}"}

    def _pause(self, cluster: Key) -> float:
        return min(_PAUSE + len(self._pods.by(_CLUSTER, cluster)) * _PAUSE_PER_POD, _LONGEST_PAUSE)

    async def _note(
        self, pods: Mapping[str, WorkerPod], notes: Mapping[str, Mapping[str, Any]], problems: list[Problem]
    ) -> None:
        async def write(name: str) -> None:
            pod = pods[name]
            metadata = {"uid": pod.metadata.uid, "annotations": notes[name]}
            await self._client.patch(PODS, pod.key, {"metadata": metadata})

        here = [name for name in notes if name in pods]
        await concurrently(here, tolerantly(write, "FailedUpdate", problems))

    async def _delete(
        self, pods: Mapping[str, WorkerPod], gone: Iterable[str], problems: list[Problem]
    ) -> None:
        async def remove(name: str) -> None:
            await self._client.delete(PODS, pods[name].key, uid=pods[name].metadata.uid)

        here = [name for name in gone if name in pods]
        await concurrently(here, tolerantly(remove, "FailedDelete", problems))

    async def _create(self, pods: Sequence[Manifest], problems: list[Problem]) -> None:
        async def create(pod: Manifest) -> None:
            with suppress(AlreadyExistsError):  # ours, and not yet in the cache, or about to go
                await self._client.create(PODS, pod)

        await concurrently(pods, tolerantly(create, "FailedCreate", problems))


def _moved(old: WorkerPod, new: WorkerPod) -> bool:
    known = (REGISTERED in each.annotations for each in (old, new))
    return old.spec.node_name != new.spec.node_name or len(set(known)) > 1


def _nodeset_of(pod: WorkerPod) -> Sequence[Key]:
    nodeset = pod.labels.get(names.NODESET_LABEL)
    return (Key(pod.metadata.namespace, nodeset),) if nodeset else ()


def cluster_of(pod: WorkerPod) -> Sequence[Key]:
    """The cluster that a pod is of."""
    return (Key(pod.metadata.namespace, pod.labels.get(names.INSTANCE_LABEL, "")),)


def _notes(decision: Decision) -> dict[str, dict[str, str | None]]:
    found: dict[str, dict[str, str | None]] = defaultdict(dict)
    for pod in decision.plan.unmark:
        found[pod][LEAVING] = None
    for pod, cause in decision.plan.mark.items():
        found[pod][LEAVING] = cause.value
    for pod in decision.arrived:
        found[pod][REGISTERED] = "true"
    return dict(found)
