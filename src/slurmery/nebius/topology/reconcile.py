"""Keeping topology.conf of every cluster, and the ConfigMap in which workers find their node's labels.

Nodes come and go in crowds: their changes are gathered for some seconds, and then each cluster is looked at
once, whatever their number.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from slurmery.api.nebius import SlurmCluster
from slurmery.doors.views import read
from slurmery.kube.apply import Act, Applier
from slurmery.kube.controller import Controller, Result, not_only_status
from slurmery.kube.desired import Desired, Owner
from slurmery.kube.informer import Informer
from slurmery.kube.logs import logger
from slurmery.kube.meta import Key, View
from slurmery.kube.resources import CONFIG_MAPS
from slurmery.nebius import names
from slurmery.nebius.cluster import Cluster, cluster
from slurmery.nebius.configmaps.build import topology
from slurmery.nebius.kinds import NODE_SETS, SLURM_CLUSTERS
from slurmery.nebius.references import cluster_of
from slurmery.nebius.slurmcluster.gather import Surroundings, born_bare, nodesets_of
from slurmery.nebius.topology.places import Tiers, node_labels, tiers, topology_conf

log = logger("topology")

_PAUSE: Final = 2.0
_LATER: Final = 60.0


@dataclass(frozen=True)
class Topology:
    """How the network is known: the prefix of the labels, and the namespace of the operator."""

    prefix: str = "topology.nebius.com"
    home: str = ""


class Reconcile:
    """Writes the files of one cluster."""

    def __init__(
        self, around: Surroundings, applier: Applier, nodes: Informer[View], settings: Topology
    ) -> None:
        self._around = around
        self._applier = applier
        self._nodes = nodes
        self._settings = settings

    async def __call__(self, key: Key, /) -> Result:
        view = self._around.caches.custom[SLURM_CLUSTERS].get(key)
        if view is None or view.deleting:
            return Result()
        try:
            owner = self._cluster(read(SlurmCluster, view), key)
        except ValueError:
            return Result()  # the cluster's own reconcile says so
        if not owner.spec.slurm_config.topology_plugin:
            return Result()
        applied = Owner(SLURM_CLUSTERS, key, view.metadata.uid, owner.labels(names.CONTROLLER))
        outcomes = await self._applier.apply(applied, self._desired(owner))
        refused = [each for each in outcomes if each.act is Act.BLOCKED]
        for each in refused:
            log.warning("Not written", object=str(each.key), reason=each.reason, words=each.message)
        return Result(_LATER if refused else None)

    def wakes(self, controller: Controller) -> None:
        """Let all reach it that has to do with where workers stand."""
        caches = self._around.caches
        caches.custom[SLURM_CLUSTERS].wakes(controller, relevant=not_only_status)
        caches.custom[NODE_SETS].wakes(
            controller, lambda view: [key] if (key := cluster_of(view)) else [], relevant=not_only_status
        )
        caches.metadata[CONFIG_MAPS].wakes(controller, self._written)
        self._around.crew.moves(controller, _pause)
        controller.watch(self._nodes, lambda _: self._clusters(), relevant=_relabelled, pause=_pause)

    def _cluster(self, resource: SlurmCluster, key: Key) -> Cluster:
        bare = born_bare(self._around.caches, key)
        return cluster(resource, nodesets_of(self._around, key), born_bare=bare, domain=self._around.domain)

    def _desired(self, owner: Cluster) -> Sequence[Desired]:
        nodes = self._places()
        key, crew = Key(owner.names.namespace, owner.names.cluster), self._around.crew
        files = topology(owner, topology_conf(owner, crew.hosts(key), nodes, crew.registered(key)))
        labels = node_labels(nodes)
        found = {owner.names.namespace, self._settings.home or owner.names.namespace}
        maps = [_labels(namespace, labels) for namespace in sorted(found)]
        # They outlive the cluster, as they always did.
        return [*(replace(each, owned=False) for each in files), *maps]

    def _places(self) -> dict[str, Tiers]:
        prefix = self._settings.prefix
        return {node.metadata.name: tiers(node.labels, prefix) for node in self._nodes.store.all()}

    def _clusters(self) -> Iterable[Key]:
        informers = self._around.caches.custom[SLURM_CLUSTERS].informers
        return [view.key for informer in informers for view in informer.store.all()]

    def _written(self, view: View) -> Iterable[Key]:
        """Somebody changed what we write."""
        ours = (names.TOPOLOGY_LABELS, names.TOPOLOGY_CONFIG)
        if not view.metadata.name.endswith(ours):
            return []
        return [key for key in self._clusters() if key.namespace == view.metadata.namespace]


def _labels(namespace: str, data: dict[str, str]) -> Desired:
    manifest = {
        "apiVersion": CONFIG_MAPS.api_version,
        "kind": CONFIG_MAPS.kind,
        "metadata": {
            "name": names.TOPOLOGY_LABELS,
            "namespace": namespace,
            "labels": {names.MANAGED_BY_LABEL: names.OPERATOR},
        },
        "data": data,
    }
    return Desired(CONFIG_MAPS, manifest, owned=False)


def _relabelled(old: View, new: View) -> bool:
    return old.labels != new.labels


def _pause(_: Key) -> float:
    return _PAUSE
