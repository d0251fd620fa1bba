"""One look at the own node: read what is true now, decide, and take the steps in their order."""

import time
from datetime import UTC, datetime

from slurmery.agents.rebooter.decide import concerned, decide
from slurmery.agents.rebooter.host import Host
from slurmery.agents.rebooter.model import Cordon, Evict, Reboot, Step, Uncordon
from slurmery.agents.rebooter.views import CORDON, Node, Pod
from slurmery.health.repair.model import SetCondition
from slurmery.kube.client import Client
from slurmery.kube.controller import Result
from slurmery.kube.errors import ConflictError, NotFoundError, TooManyRequestsError
from slurmery.kube.events import Recorder, Regarding
from slurmery.kube.informer import Informer
from slurmery.kube.logs import logger
from slurmery.kube.meta import Key
from slurmery.kube.resources import NODES, PODS

log = logger("rebooter")


class Reconcile:
    """Empties and reboots one node. The cache only says whether to look: steps follow from fresh reads."""

    def __init__(
        self, client: Client, node: Informer[Node], host: Host, recorder: Recorder, every: float
    ) -> None:
        self._client = client
        self._node = node
        self._host = host
        self._recorder = recorder
        self._every = every

    async def __call__(self, key: Key, /) -> Result:
        known = self._node.store.get(key)
        if known is None or not concerned(known.own):
            return Result(self._every)
        try:
            node = await self._client.get(NODES, key, as_=Node)
        except NotFoundError:
            return Result(self._every)
        pods = await self._client.list(PODS, field_selector=f"spec.nodeName={key.name}", as_=Pod)
        verdict = decide(node.own, [pod.guest for pod in pods.items], self._host.booted())
        for step in verdict.steps:
            await self._take(node, step)
        return Result(self._every if verdict.again is None else verdict.again)

    async def _take(self, node: Node, step: Step) -> None:
        match step:
            case Cordon():
                await self._schedulable(node, unschedulable=True)
            case Uncordon():
                await self._schedulable(node, unschedulable=False)
            case Evict():
                await self._evict(node, step)
            case SetCondition():
                await self._say(node, step)
            case Reboot():
                self._record(node, "Normal", "Rebooting", "The node is empty: the machine is restarted.")
                await self._host.reboot()

    async def _schedulable(self, node: Node, *, unschedulable: bool) -> None:
        # With the version that was read: a cordon that somebody made meanwhile is not taken for ours.
        metadata = {
            "resourceVersion": node.metadata.resource_version,
            "annotations": {CORDON: "true" if unschedulable else None},
        }
        patch = {"metadata": metadata, "spec": {"unschedulable": unschedulable or None}}
        await self._client.patch(NODES, node.key, patch)
        words = "No more pods are brought to the node." if unschedulable else "Pods may come again."
        self._record(node, "Normal", "Cordoned" if unschedulable else "Uncordoned", words)

    async def _evict(self, node: Node, pod: Evict) -> None:
        eviction = {
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": {"name": pod.key.name, "namespace": pod.key.namespace},
            "deleteOptions": {"preconditions": {"uid": pod.uid}},
        }
        try:
            await self._client.request("POST", PODS.path(*pod.key, "eviction"), body=eviction)
        except (NotFoundError, ConflictError):
            log.info("Pod left before it was evicted", pod=str(pod.key))
        except TooManyRequestsError as error:
            log.info("Eviction refused", pod=str(pod.key), error=error.message)
            self._record(node, "Warning", "EvictionRefused", f"{pod.key} may not leave yet: {error.message}")

    async def _say(self, node: Node, said: SetCondition) -> None:
        now = datetime.fromtimestamp(time.time(), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        condition = {
            "type": said.type,
            "status": said.status,
            "reason": said.reason,
            "message": said.message,
            "lastHeartbeatTime": now,
        }
        if node.own.condition(said.type).status != said.status:
            condition["lastTransitionTime"] = now
        patch = {"status": {"conditions": [condition]}}
        await self._client.patch(NODES, node.key, patch, kind="strategic", subresource="status")

    def _record(self, node: Node, type_: str, reason: str, words: str) -> None:
        regarding = Regarding(NODES, node.key, node.metadata.uid)
        self._recorder.record(regarding, "Warning" if type_ == "Warning" else "Normal", reason, words)
