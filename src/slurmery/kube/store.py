"""What an informer knows: views by key and by index."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Generic, TypeVar

from slurmery.kube.meta import Key, View

V = TypeVar("V", bound=View)
# Under which values a view is to be found; a pure function of the view.
Index = Callable[[V], Iterable[Hashable]]


class Store(Generic[V]):
    """Views by key, and by each index. Reads give snapshots: a reader may await while it walks one."""

    def __init__(self, indexes: Mapping[str, Index[V]] | None = None) -> None:
        self._views: dict[Key, V] = {}
        self._indexes = dict(indexes or {})
        self._found: dict[str, dict[Hashable, dict[Key, V]]] = {name: {} for name in self._indexes}

    def __len__(self) -> int:
        return len(self._views)

    def __contains__(self, key: Key) -> bool:
        return key in self._views

    def get(self, key: Key) -> V | None:
        return self._views.get(key)

    def keys(self) -> set[Key]:
        return set(self._views)

    def all(self) -> list[V]:
        return list(self._views.values())

    def by(self, index: str, value: Hashable) -> list[V]:
        """The views that the index puts under this value."""
        return list(self._found[index].get(value, {}).values())

    def put(self, view: V) -> V | None:
        """Keep a view; returns the one it replaces."""
        old = self.remove(view.key)
        self._views[view.key] = view
        for name, index in self._indexes.items():
            found = self._found[name]
            for value in index(view):
                found.setdefault(value, {})[view.key] = view
        return old

    def remove(self, key: Key) -> V | None:
        """Forget a view; returns it if there was one."""
        old = self._views.pop(key, None)
        if old is None:
            return None
        for name, index in self._indexes.items():
            found = self._found[name]
            for value in index(old):
                del found[value][key]
                if not found[value]:
                    del found[value]
        return old
