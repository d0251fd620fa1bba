"""The parts of `slurmery rebooter`, wired to a runtime."""

from collections.abc import Iterable
from dataclasses import dataclass

from slurmery.agents.rebooter.host import AnyMachine
from slurmery.agents.rebooter.reconcile import Reconcile
from slurmery.agents.rebooter.views import not_only_heartbeat
from slurmery.health.hosts import Host
from slurmery.kube.controller import Controller, unreported
from slurmery.kube.meta import Key, Selection, View
from slurmery.kube.resources import NODES, PODS
from slurmery.kube.runtime import Runtime


@dataclass(frozen=True)
class Rebooter:
    """Which node is ours, the machine below it, and how often it is looked at without a cause."""

    node: str
    machine: AnyMachine
    every: float

    def wire(self, runtime: Runtime) -> None:
        """Give the runtime its informers, of this node and its pods alone, and its controller."""
        node = runtime.informer(Selection(NODES, field_selector=f"metadata.name={self.node}"), Host)
        selection = Selection(PODS, field_selector=f"spec.nodeName={self.node}", metadata_only=True)
        pods = runtime.informer(selection, View)
        reconcile = Reconcile(runtime.client, node, self.machine, runtime.recorder("rebooter"), self.every)
        controller = Controller("rebooter", reconcile, unreported)
        controller.watch(node, relevant=not_only_heartbeat)
        controller.watch(pods, self._own, relevant=_left)
        runtime.add(controller)

    def _own(self, _: View) -> Iterable[Key]:
        return (Key("", self.node),)


def _left(old: View, new: View) -> bool:
    """Pods that come and go matter, changes of those that stay do not."""
    return old.deleting != new.deleting
