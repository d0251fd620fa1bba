"""Kubernetes nodes as we know them: the cache, and what we wrote that it does not show yet.

Without the latter a budget could be spent twice: once by us, and again before the cache shows it.
"""

from collections.abc import Callable

from slurmery.health.hosts import Host
from slurmery.health.repair.decide import held
from slurmery.health.repair.model import Machine
from slurmery.kube.controller import Controller
from slurmery.kube.informer import Informer
from slurmery.kube.meta import Key


class Machines:
    """All of them. `held` are the names of those that the repairers have in hand."""

    def __init__(self, hosts: Informer[Host]) -> None:
        self.held: set[str] = set()
        self.there = 0
        """Grows whenever a node comes or goes."""
        self._cache = hosts
        self._ahead: dict[str, Host] = {}
        self._deleted: dict[str, str] = {}
        self._cache.subscribe(self._learn)

    def wakes(self, controller: Controller, relevant: Callable[[Host, Host], bool]) -> None:
        """Let changes reach a controller."""
        controller.watch(self._cache, relevant=relevant)

    def get(self, name: str) -> Host | None:
        """A node, unless it is on its way out."""
        cached = self._cache.store.get(Key("", name))
        if cached is None or cached.deleting or self._deleted.get(name) == cached.metadata.uid:
            return None
        return self._ahead.get(name, cached)

    def wrote(self, host: Host) -> None:
        """The API server answered our write with this."""
        name = host.metadata.name
        cached = self._cache.store.get(Key("", name))
        if cached is None or _newer(host, cached):
            self._ahead[name] = host
            self._count(name)

    def deleted(self, host: Host) -> None:
        """We have deleted it; whatever finalizers keep it for, it is not there any more for us."""
        self._deleted[host.metadata.name] = host.metadata.uid
        self.there += 1
        self._count(host.metadata.name)

    def _learn(self, old: Host | None, new: Host | None) -> None:
        host = new or old
        if host is None:
            return
        name, uid = host.metadata.name, new.metadata.uid if new else ""
        ahead = self._ahead.get(name)
        if ahead and (new is None or not _newer(ahead, new)):
            del self._ahead[name]
        if self._deleted.get(name, uid) != uid:
            del self._deleted[name]
        if old is None or new is None or old.metadata.uid != uid or old.deleting != new.deleting:
            self.there += 1
        self._count(name)

    def _count(self, name: str) -> None:
        host = self.get(name)
        if host and held(host.conditions.items()):
            self.held.add(name)
        else:
            self.held.discard(name)


def machine(host: Host) -> Machine:
    """The node as decisions look at it."""
    made = host.metadata.creation_timestamp
    return Machine(
        name=host.metadata.name,
        created=made.timestamp() if made else 0.0,
        conditions=host.conditions,
        labels=host.labels,
        cordoned=host.spec.unschedulable,
    )


def _newer(one: Host, other: Host) -> bool:
    same = one.metadata.uid == other.metadata.uid
    return same and int(one.metadata.resource_version) > int(other.metadata.resource_version)
