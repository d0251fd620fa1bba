"""NodeConfigurators, wired to a runtime: their own DaemonSets wake them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, cast

import msgspec

from slurmery.api.nebius import NodeConfigurator
from slurmery.doors.cache import Cache
from slurmery.doors.conditions import Rollout
from slurmery.doors.reconcile import Kind, Reconcile
from slurmery.doors.report import Reporter
from slurmery.doors.views import Custom, resource
from slurmery.health.configurator.build import labels, name
from slurmery.health.configurator.decide import Observed, decide, status
from slurmery.kube.apply import Applier
from slurmery.kube.controller import Controller, controller_of, not_only_status, unreported
from slurmery.kube.informer import Informer
from slurmery.kube.meta import Key, Selection
from slurmery.kube.observed import OWNER_INDEX, Cached, owners
from slurmery.kube.ownership import Footprint
from slurmery.kube.resources import DAEMON_SETS
from slurmery.kube.runtime import Runtime, Wing
from slurmery.nebius.names import NODE_CONFIGURATOR_LABEL

NODE_CONFIGURATORS: Final = resource(NodeConfigurator)


class _Status(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    observed_generation: int = 0
    desired_number_scheduled: int = 0
    current_number_scheduled: int = 0
    number_ready: int = 0
    updated_number_scheduled: int = 0


class DaemonSet(Footprint, frozen=True, gc=False):
    """A DaemonSet of ours."""

    status: _Status = _Status()

    @property
    def observed(self) -> Observed:
        """What it reports of its pods."""
        told = self.status
        rollout = Rollout(
            generation=self.metadata.generation or 0,
            observed_generation=told.observed_generation,
            replicas=told.current_number_scheduled,
            ready=told.number_ready,
            updated=told.updated_number_scheduled,
        )
        return Observed(rollout, told.desired_number_scheduled)


@dataclass(frozen=True)
class Configurator:
    """How NodeConfigurators are looked after; no namespaces are all."""

    namespaces: Sequence[str] = ()
    workers: int = 1
    time_limit: float = 180.0

    def wire(self, runtime: Runtime) -> None:
        """Give the runtime the informers and the controller of this kind."""
        wing = Wing(runtime, NODE_CONFIGURATORS)
        places = self.namespaces or (None,)
        custom = Cache(
            [wing.informer(Selection(NODE_CONFIGURATORS, namespace=one), Custom) for one in places]
        )
        selections = [
            Selection(DAEMON_SETS, namespace=one, label_selector=f"{NODE_CONFIGURATOR_LABEL}=true")
            for one in places
        ]
        owned = Cache([wing.informer(one, DaemonSet, {OWNER_INDEX: owners}) for one in selections])
        kind = Kind(
            NodeConfigurator,
            gather=lambda model: _gather(owned, model),
            decide=decide,
            labels=labels,
            status=status,
        )
        recorder = runtime.recorder("slurm-operator")
        reporter = Reporter(runtime.client, recorder, NODE_CONFIGURATORS, timed=True)
        # A cache of more is one of footprints to whoever only reads it.
        informers = cast("Sequence[Informer[Footprint]]", owned.informers)
        applier = Applier(runtime.client, Cached(runtime.client, informers), runtime.discovery)
        controller = Controller(
            "nodeconfigurator",
            Reconcile(kind, custom, applier, reporter),
            unreported,
            workers=self.workers,
            time_limit=self.time_limit,
        )
        custom.wakes(controller, relevant=not_only_status)
        owned.wakes(controller, controller_of(NODE_CONFIGURATORS))
        wing.add(controller)


async def _gather(owned: Cache[DaemonSet], configurator: NodeConfigurator) -> Observed:
    metadata = configurator.metadata
    found = owned.get(Key(metadata.namespace, name(metadata.name)))
    mine = found and found.controller and found.controller.uid == metadata.uid
    return found.observed if found and mine else Observed()
