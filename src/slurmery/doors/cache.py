"""One resource as a front door knows it, in all the namespaces that it looks after."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import replace
from typing import Final, Generic, TypeVar

from slurmery.kube.controller import Controller, Keys
from slurmery.kube.informer import Informer
from slurmery.kube.meta import Key, Selection, View
from slurmery.kube.resources import DEPLOYMENTS, STATEFUL_SETS
from slurmery.kube.runtime import Wing
from slurmery.kube.store import Index

V = TypeVar("V", bound=View)

WORKLOADS: Final = (STATEFUL_SETS, DEPLOYMENTS)


class Cache(Generic[V]):
    """One resource in all the namespaces that are looked after, one informer for each."""

    def __init__(self, informers: Sequence[Informer[V]]) -> None:
        self.informers = informers

    def get(self, key: Key) -> V | None:
        return next((found for one in self.informers if (found := one.store.get(key))), None)

    def by(self, index: str, value: Hashable) -> list[V]:
        return [found for one in self.informers for found in one.store.by(index, value)]

    def subscribe(self, handler: Callable[[V | None, V | None], None]) -> None:
        for informer in self.informers:
            informer.subscribe(handler)

    def wakes(
        self,
        controller: Controller,
        keys: Keys[V] | None = None,
        *,
        relevant: Callable[[V, V], bool] | None = None,
        pause: Callable[[Key], float] | None = None,
    ) -> None:
        """Let changes here reach a controller, after a pause in which more of them may come."""
        for informer in self.informers:
            controller.watch(informer, keys, relevant=relevant, pause=pause)


def cache(
    wing: Wing, namespaces: Sequence[str], all_of: Selection, view: type[V], indexes: Mapping[str, Index[V]]
) -> Cache[V]:
    """The cache of a selection in these namespaces; none are all of them."""
    chosen = [replace(all_of, namespace=namespace) for namespace in namespaces or (None,)]
    return Cache([wing.informer(each, view, indexes) for each in chosen])
