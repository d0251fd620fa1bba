"""The parts of `slurmery sconfigcontroller`, wired to a runtime."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from slurmery.agents.jail.files import Jail
from slurmery.agents.jail.group import group_of, of_cluster
from slurmery.agents.jail.reconcile import Reconcile
from slurmery.agents.jail.reconfiguration import Pace, Reconfiguration
from slurmery.api.nebius import JailedConfig
from slurmery.doors.cache import Cache
from slurmery.doors.contents import Contents
from slurmery.doors.key import KeySecret
from slurmery.doors.report import Reporter
from slurmery.doors.views import Custom, resource
from slurmery.kube.controller import Controller, not_only_status, unreported
from slurmery.kube.meta import Key, Selection, View
from slurmery.kube.ownership import Footprint
from slurmery.kube.resources import CONFIG_MAPS
from slurmery.kube.runtime import Runtime
from slurmery.slurm.client import SlurmClient
from slurmery.slurm.tokens import SignedTokens


@dataclass(frozen=True)
class Writer:
    """Which cluster's files are written, where to, and how Slurm is told."""

    namespace: str
    cluster: str
    jail: Path
    slurmrestd: str
    pace: Pace
    workers: int = 1

    def wire(self, runtime: Runtime) -> None:
        """Give the runtime its informers and its controller."""
        kind = resource(JailedConfig)
        indexes = {"group": self._groups, "map": _maps}
        configs = Cache([runtime.informer(Selection(kind, namespace=self.namespace), Custom, indexes)])
        selection = Selection(CONFIG_MAPS, namespace=self.namespace, metadata_only=True)
        maps = Cache([runtime.informer(selection, Footprint)])
        key = KeySecret(runtime.client, self.namespace, self.cluster)
        # Slurm runs as root in these clusters, and nobody else may reconfigure it.
        slurm = SlurmClient(self.slurmrestd, SignedTokens(key, user="root"))
        reconcile = Reconcile(
            lambda key: [view for view in configs.by("group", key) if not view.deleting],
            Contents(runtime.client, {CONFIG_MAPS: maps}),
            Jail(self.jail),
            Reporter(runtime.client, runtime.recorder("sconfigcontroller"), kind),
            lambda now: Reconfiguration(slurm, self.pace, now),
        )
        controller = Controller("jailedconfig", reconcile, unreported, workers=self.workers)
        configs.wakes(controller, self._groups, relevant=not_only_status)
        maps.wakes(controller, lambda view: self._users(configs, view))
        runtime.add(controller)

    def _groups(self, view: Custom) -> Iterable[Key]:
        return (group_of(view),) if of_cluster(view, self.cluster) else ()

    def _users(self, configs: Cache[Custom], view: View) -> Iterable[Key]:
        return [key for config in configs.by("map", view.key) for key in self._groups(config)]


def _maps(view: Custom) -> Iterable[Key]:
    """The ConfigMap that a JailedConfig names."""
    name = (view.spec.get("configMap") or {}).get("name", "")
    return (Key(view.metadata.namespace, name),)
