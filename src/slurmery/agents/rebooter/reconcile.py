"""One look at the own node: read what is true now, decide, and take the steps in their order."""

from typing import Final

from slurmery.agents.rebooter.decide import concerned, decide, returned
from slurmery.agents.rebooter.host import AnyMachine
from slurmery.agents.rebooter.model import Cordon, Evict, Reboot, Step, Uncordon
from slurmery.agents.rebooter.views import CORDON, Pod, own
from slurmery.health.hosts import Host, marked
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

_AT_ONCE: Final = 0.1


class Reconcile:
    """Empties and reboots one node. The cache only says whether to look: steps follow from fresh reads."""

    def __init__(
        self, client: Client, node: Informer[Host], machine: AnyMachine, recorder: Recorder, every: float
    ) -> None:
        self._client = client
        self._node = node
        self._machine = machine
        self._recorder = recorder
        self._every = every

    async def __call__(self, key: Key, /) -> Result:
        known = self._node.store.get(key)
        if known is None or not concerned(own(known)):
            return Result(self._every)
        try:
            node = await self._client.get(NODES, key, as_=Host)
        except NotFoundError:
            return Result(self._every)
        pods = await self._client.list(PODS, field_selector=f"spec.nodeName={key.name}", as_=Pod)
        verdict = decide(own(node), [pod.guest for pod in pods.items], self._machine.booted())
        for step in verdict.steps:
            await self._take(node, step)
        if Reboot() in verdict.steps and returned(own(node), self._machine.booted()):
            return Result(_AT_ONCE)  # a rehearsed one takes no time
        return Result(self._every if verdict.again is None else verdict.again)

    async def _take(self, node: Host, step: Step) -> None:
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
                await self._machine.reboot()

    async def _schedulable(self, node: Host, *, unschedulable: bool) -> None:
        # With the version that was read: a cordon that somebody made meanwhile is not taken for ours.
        metadata = {
            "resourceVersion": node.metadata.resource_version,
            "annotations": {CORDON: "true" if unschedulable else None},
        }
        patch = {"metadata": metadata, "spec": {"unschedulable": unschedulable or None}}
        await self._client.patch(NODES, node.key, patch)
        words = "No more pods are brought to the node." if unschedulable else "Pods may come again."
        self._record(node, "Normal", "Cordoned" if unschedulable else "Uncordoned", words)

    async def _evict(self, node: Host, pod: Evict) -> None:
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

    async def _say(self, node: Host, said: SetCondition) -> None:
        await self._client.patch(NODES, node.key, marked(node, said), kind="strategic", subresource="status")

    def _record(self, node: Host, type_: str, reason: str, words: str) -> None:
        regarding = Regarding(NODES, node.key, node.metadata.uid)
        self._recorder.record(regarding, "Warning" if type_ == "Warning" else "Normal", reason, words)
