"""The caches of NodeSets: worker pods, Kubernetes nodes, and what of our doing they do not show yet."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from slurmery.doors.cache import Cache
from slurmery.doors.pods import WorkerPod
from slurmery.kube.controller import Controller as Workers
from slurmery.kube.controller import controller_of
from slurmery.kube.expectations import Expectations
from slurmery.kube.meta import Key, Selection
from slurmery.kube.resources import NODES, PODS
from slurmery.kube.runtime import Wing
from slurmery.slinky import names
from slurmery.slinky.caches import Caches
from slurmery.slinky.kinds import NODE_SETS
from slurmery.slinky.nodeset.observe import DAEMON_SET
from slurmery.slinky.nodeset.views import Host, not_only_heartbeat

# Seconds for which changes of a NodeSet's pods are gathered: a pass looks at all of them, so that with a
# pause for each, the passes of a rollout are as many for thousands of pods as for few.
_PAUSE: Final = 0.05
_PAUSE_PER_POD: Final = 0.001
_LONGEST_PAUSE: Final = 5.0
_OWNER: Final = "owner"
_PLACE: Final = "place"
_ORPHANS: Final = "orphans"

_controlling = controller_of(NODE_SETS)


class Fleet:
    """All workers of the namespaces that are looked after."""

    def __init__(self, wing: Wing, caches: Caches, namespaces: Sequence[str] = ()) -> None:
        self.expectations = Expectations[Key]()
        self._nodesets = caches.custom[NODE_SETS]
        workers = f"{names.NAME_LABEL}={names.SLURMD.name}"
        self._pods = Cache(
            [
                wing.informer(
                    Selection(PODS, namespace, label_selector=workers),
                    WorkerPod,
                    {_OWNER: _owner, _PLACE: _place, _ORPHANS: _orphan},
                )
                for namespace in namespaces or (None,)
            ]
        )
        self._hosts = wing.informer(Selection(NODES), Host)
        self._pods.subscribe(self._strike_out)

    def wakes(self, workers: Workers) -> None:
        """Let changes here reach the NodeSets that they concern."""
        self._pods.wakes(workers, _nodeset_of, pause=self._pause)
        workers.watch(self._hosts, self._concerned, relevant=not_only_heartbeat)

    def pods_of(self, uid: str) -> Sequence[WorkerPod]:
        """The pods of a NodeSet."""
        return sorted(self._pods.by(_OWNER, uid), key=lambda pod: pod.metadata.name)

    def orphans(self, key: Key) -> Sequence[WorkerPod]:
        """The pods that bear the labels of a NodeSet, and that nobody controls."""
        return self._pods.by(_ORPHANS, key)

    def hosts(self, wanted: Iterable[str] | None = None) -> Mapping[str, Host]:
        """The Kubernetes nodes of these names that exist, or all of them."""
        if wanted is None:
            return {host.metadata.name: host for host in self._hosts.store.all()}
        found = ((name, self._hosts.store.get(Key("", name))) for name in set(wanted))
        return {name: host for name, host in found if host}

    def _pause(self, key: Key) -> float:
        nodeset = self._nodesets.get(key)
        status = (nodeset.status or {}) if nodeset else {}
        pods = max(int(status.get("replicas", 0)), int(status.get("desired", 0)))
        return min(_PAUSE + pods * _PAUSE_PER_POD, _LONGEST_PAUSE)

    def _concerned(self, host: Host) -> Iterable[Key]:
        """Who has a worker there, and who might want one."""
        keys = {key for pod in self._pods.by(_PLACE, host.metadata.name) for key in _nodeset_of(pod)}
        for informer in self._nodesets.informers:
            keys |= {view.key for view in informer.store.all() if view.spec.get("scalingMode") == DAEMON_SET}
        return keys

    def _strike_out(self, old: WorkerPod | None, new: WorkerPod | None) -> None:
        pod = new or old
        for key in _nodeset_of(pod) if pod else ():
            if new:
                self.expectations.seen(key, new.metadata.name)
            if pod and (new is None or new.deleting):
                self.expectations.seen(key, pod.metadata.uid)
            if old and new and old.metadata.uid != new.metadata.uid:
                self.expectations.seen(key, old.metadata.uid)


def _owner(pod: WorkerPod) -> Sequence[str]:
    return (pod.controller.uid,) if pod.controller else ()


def _orphan(pod: WorkerPod) -> Sequence[Key]:
    return () if pod.controller else (Key(pod.metadata.namespace, pod.labels.get(names.INSTANCE_LABEL, "")),)


def _nodeset_of(pod: WorkerPod) -> Iterable[Key]:
    """Whose it is, or whose it looks like if it is nobody's."""
    return (*_controlling(pod), *_orphan(pod))


def _place(pod: WorkerPod) -> Sequence[str]:
    return (pod.spec.node_name,) if pod.spec.node_name else ()
