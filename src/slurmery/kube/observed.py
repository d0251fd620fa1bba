"""Where the apply engine looks at live objects: at the API server, or in the caches of the operator."""

from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

from slurmery.kube.client import Client
from slurmery.kube.errors import NotFoundError
from slurmery.kube.informer import Informer
from slurmery.kube.meta import Key, Resource, Selection
from slurmery.kube.ownership import Footprint

OWNER_INDEX = "owner"


class Observed(Protocol):
    """The live objects, as far as the apply engine needs to know them."""

    async def get(self, resource: Resource, key: Key) -> Footprint | None:
        """The object, or None if there is none."""

    async def owned(self, resource: Resource, namespace: str, owner: str) -> Iterable[Footprint]:
        """The objects in the namespace, or in all if it is empty, whose controller has this uid."""

    def wrote(self, resource: Resource, live: Footprint) -> None:
        """The engine has just written this object, and the server answered with this."""


class Direct:
    """Asks the API server each time: for tools, tests, and kinds that no informer watches."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def get(self, resource: Resource, key: Key) -> Footprint | None:
        try:
            return await self._client.get(resource, key, as_=Footprint)
        except NotFoundError:
            return None

    async def owned(self, resource: Resource, namespace: str, owner: str) -> Iterable[Footprint]:
        selection = Selection(resource, namespace or None, metadata_only=True)
        listing = await self._client.fetch(selection, Footprint)
        return [live for live in listing.items if owner in owners(live)]

    def wrote(self, resource: Resource, live: Footprint) -> None:
        """Nothing to remember: the next look is at the server again."""


class Cached:
    """Reads informers of footprints, and the API server for what they do not cover or have not listed yet.

    Informers must be made with `indexes`. A write is seen at once, before the watch brings it.
    """

    def __init__(self, client: Client, informers: Sequence[Informer[Footprint]]) -> None:
        self._direct = Direct(client)
        self._informers = informers
        # Our own writes that are newer than the cache; the watch brings each of them, or something newer.
        self._ahead: dict[tuple[Resource, Key], Footprint] = {}
        for informer in informers:
            informer.subscribe(self._catch_up(informer.selection.resource))

    async def get(self, resource: Resource, key: Key) -> Footprint | None:
        informer = self._covering(resource, key.namespace)
        if informer is None:
            return await self._direct.get(resource, key)
        return self._ahead.get((resource, key)) or informer.store.get(key)

    async def owned(self, resource: Resource, namespace: str, owner: str) -> Iterable[Footprint]:
        informer = self._covering(resource, namespace)
        if informer is None:
            return await self._direct.owned(resource, namespace, owner)
        found = informer.store.by(OWNER_INDEX, owner)
        return [live for live in found if namespace in {"", live.key.namespace}]

    def wrote(self, resource: Resource, live: Footprint) -> None:
        informer = self._covering(resource, live.key.namespace)
        if informer and not _shows(informer.store.get(live.key), live):
            self._ahead[resource, live.key] = live

    def _covering(self, resource: Resource, namespace: str) -> Informer[Footprint] | None:
        for informer in self._informers:
            selection = informer.selection
            if selection.resource == resource and selection.namespace in {None, namespace}:
                return informer if informer.synced.is_set() else None
        return None

    def _catch_up(self, resource: Resource) -> Callable[[Footprint | None, Footprint | None], None]:
        def handle(old: Footprint | None, new: Footprint | None) -> None:
            live = new or old
            ahead = self._ahead.get((resource, live.key)) if live else None
            if ahead and (new is None or _shows(new, ahead)):
                del self._ahead[resource, ahead.key]

        return handle


def owners(live: Footprint) -> tuple[str, ...]:
    """The index that Cached needs: the uid of the object's controller."""
    return (live.controller.uid,) if live.controller else ()


def _shows(cached: Footprint | None, written: Footprint) -> bool:
    # Resource versions of one resource are ordered numbers (KEP-5504).
    return cached is not None and int(cached.metadata.resource_version) >= int(
        written.metadata.resource_version
    )
