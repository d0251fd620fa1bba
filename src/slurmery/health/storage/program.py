"""The watch over the ephemeral storage of worker pods: one question to its kubelet per pod and minute."""

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Final

from slurmery.api.quantity import quantity
from slurmery.health.storage.decide import Thresholds, decide
from slurmery.health.storage.kubelet import KubeletError, Kubelets, Ways
from slurmery.health.views import WorkerPod
from slurmery.health.world import World
from slurmery.kube.backoff import jittered
from slurmery.kube.controller import Controller, Result, unreported
from slurmery.kube.events import Recorder, Regarding
from slurmery.kube.logs import logger
from slurmery.kube.meta import Key
from slurmery.kube.resources import PODS
from slurmery.kube.runtime import Runtime

log = logger("storage")

_RESOURCE: Final = "ephemeral-storage"
_REASON: Final = "HighEphemeralStorageUsage"


@dataclass(frozen=True)
class Watch:
    """How it is watched; `interval` are the seconds between two looks at a pod."""

    thresholds: Thresholds = field(default_factory=Thresholds)
    ways: Ways = field(default_factory=Ways)
    interval: float = 60.0
    workers: int = 10
    time_limit: float = 15.0

    @asynccontextmanager
    async def open(self, runtime: Runtime, world: World) -> AsyncIterator[None]:
        """Give the runtime its controller, for as long as it runs."""
        async with Kubelets(runtime.client.config, self.ways) as kubelets:
            look = _Look(self, world, kubelets, runtime.recorder("soperatorchecks"))
            controller = Controller(
                "podephemeralstoragecheck",
                look,
                unreported,
                workers=self.workers,
                time_limit=self.time_limit,
            )
            world.pods.cache.wakes(controller, relevant=lambda old, new: _facts(old) != _facts(new))
            runtime.add(controller)
            yield


class _Look:
    """One look at one pod."""

    def __init__(self, watch: Watch, world: World, kubelets: Kubelets, recorder: Recorder) -> None:
        self._watch = watch
        self._world = world
        self._kubelets = kubelets
        self._recorder = recorder

    async def __call__(self, key: Key) -> Result:
        pod = self._world.pods.cache.get(key)
        host = self._world.hosts.store.get(Key("", pod.spec.node_name)) if pod else None
        if pod is None or host is None or pod.deleting or pod.status.phase != "Running":
            return Result()
        room = limit(pod)
        if room is None:
            return Result()
        again = Result(self._watch.interval - jittered(0.1 * self._watch.interval))
        try:
            used = await self._kubelets.used(host, pod.metadata.uid)
        except KubeletError as error:
            log.warning("Storage not known", pod=str(key), error=str(error))
            return again
        if used is not None:
            await self._judge(pod, used, room)
        return again

    async def _judge(self, pod: WorkerPod, used: int, room: int) -> None:
        cluster, name, slurms = pod.cluster, pod.slurm_name, self._world.slurms
        fresh = slurms.known(cluster) and not slurms.unheard(cluster, name)
        node = slurms.snapshot(cluster).nodes.get(name) if fresh else None
        verdict = decide(used, room, node, self._watch.thresholds)
        regarding = Regarding(PODS, pod.key, pod.metadata.uid)
        if verdict.warning:
            self._recorder.record(regarding, "Warning", _REASON, verdict.warning, action="CheckStorage")
        if verdict.word:
            for problem in await slurms.tell(cluster, [verdict.word]):
                self._recorder.record(regarding, "Warning", problem.reason, problem.message)


def limit(pod: WorkerPod) -> int | None:
    """The bytes that the containers of a pod may use together; None if nobody says."""
    containers = (*pod.spec.containers, *(pod.spec.init_containers or ()))
    found = [given for each in containers if (given := (each.resources.limits or {}).get(_RESOURCE))]
    return int(sum(quantity(each) for each in found)) or None


def _facts(pod: WorkerPod) -> Iterable[object]:
    return pod.metadata.uid, pod.spec.node_name, pod.status.phase, pod.deleting
