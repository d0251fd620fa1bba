"""What is in Secrets and ConfigMaps: fetched when it is needed, kept for as long as it is true.

Caches hold only their metadata. So the content of other people's Secrets never enters this process, and that
of ours is fetched once per change. It is never logged.
"""

import base64
from collections.abc import Mapping
from typing import NamedTuple

import msgspec

from slurmery.doors.cache import Cache
from slurmery.kube.client import Client
from slurmery.kube.errors import NotFoundError
from slurmery.kube.meta import Key, Resource, View
from slurmery.kube.ownership import Footprint
from slurmery.kube.resources import CONFIG_MAPS, SECRETS

Content = Mapping[str, bytes]


class _Map(View, frozen=True, gc=False):
    data: dict[str, str] | None = None
    binary_data: dict[str, str] | None = msgspec.field(default=None, name="binaryData")


class _Known(NamedTuple):
    version: int
    content: Content


class Contents:
    """Secrets and ConfigMaps by key; None where there is none."""

    def __init__(self, client: Client, caches: Mapping[Resource, Cache[Footprint]]) -> None:
        self._client = client
        self._caches = {one: caches[one] for one in (SECRETS, CONFIG_MAPS) if one in caches}
        self._known: dict[tuple[Resource, Key], _Known] = {}
        for resource, cache in self._caches.items():
            self._forget_deleted(resource, cache)

    async def secret(self, key: Key) -> Content | None:
        return await self._get(SECRETS, key)

    async def config_map(self, key: Key) -> Content | None:
        return await self._get(CONFIG_MAPS, key)

    async def live(self, resource: Resource, key: Key) -> Content | None:
        """The content as it is at this moment, also if we wrote it a moment ago."""
        try:
            found = await self._client.get(resource, key, as_=_Map)
        except NotFoundError:
            return None
        content = _content(resource, found)
        self._known[resource, key] = _Known(int(found.metadata.resource_version), content)
        return content

    async def _get(self, resource: Resource, key: Key) -> Content | None:
        view = self._caches[resource].get(key)
        if view is None:
            return None
        known = self._known.get((resource, key))
        # Resource versions of one resource are ordered numbers (KEP-5504).
        if known and known.version >= int(view.metadata.resource_version):
            return known.content
        return await self.live(resource, key)

    def _forget_deleted(self, resource: Resource, cache: Cache[Footprint]) -> None:
        def handle(old: Footprint | None, new: Footprint | None) -> None:
            if old and not new:
                self._known.pop((resource, old.key), None)

        cache.subscribe(handle)


def _content(resource: Resource, found: _Map) -> Content:
    encoded = {name: base64.b64decode(value) for name, value in (found.binary_data or {}).items()}
    if resource == SECRETS:
        return {name: base64.b64decode(value) for name, value in (found.data or {}).items()}
    return {**encoded, **{name: value.encode() for name, value in (found.data or {}).items()}}
