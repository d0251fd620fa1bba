"""Names, places and metadata of Kubernetes objects.

An object that we write is a *manifest*: a plain mapping, exactly as JSON. An object that we watch is
a *view*: a small frozen struct with the few fields that a controller reads. Views are never written
back, so nothing that we do not know about can get lost on the way.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple
from urllib.parse import quote

import msgspec

Manifest = Mapping[str, Any]


class Key(NamedTuple):
    """Which object of a resource; the namespace of a cluster-wide object is empty."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


def key_of(manifest: Manifest) -> Key:
    """The key in a manifest's metadata."""
    metadata = manifest["metadata"]
    return Key(metadata.get("namespace", ""), metadata["name"])


@dataclass(frozen=True)
class Resource:
    """A kind of object and where the API server serves it."""

    group: str
    version: str
    plural: str
    kind: str
    namespaced: bool = True

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    def path(
        self, namespace: str | None = None, name: str | None = None, subresource: str | None = None
    ) -> str:
        """The URL path of an object, of a namespace's collection, or of the whole collection."""
        parts = ["/apis" if self.group else "/api", self.api_version]
        if self.namespaced and namespace:
            parts += ["namespaces", quote(namespace)]
        parts.append(self.plural)
        if name:
            parts.append(quote(name, safe=":"))
        if subresource:
            parts.append(subresource)
        return "/".join(parts)

    def __str__(self) -> str:
        return f"{self.plural}.{self.group}" if self.group else self.plural


@dataclass(frozen=True)
class Selection:
    """Which objects of a resource to list or watch, and whether their metadata will do."""

    resource: Resource
    namespace: str | None = None
    label_selector: str | None = None
    field_selector: str | None = None
    metadata_only: bool = False

    @property
    def path(self) -> str:
        return self.resource.path(self.namespace)

    @property
    def params(self) -> dict[str, str]:
        both = {"labelSelector": self.label_selector, "fieldSelector": self.field_selector}
        return {name: text for name, text in both.items() if text}


class _Wire(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    # gc=False: views form no cycles, and ten thousand of them would make every collection slow.
    pass


class OwnerReference(_Wire, frozen=True, gc=False):
    """One of the objects that an object belongs to."""

    api_version: str
    kind: str
    name: str
    uid: str
    controller: bool | None = None
    block_owner_deletion: bool | None = None


class ObjectMeta(_Wire, frozen=True, gc=False):
    """The metadata that controllers read. What the API server may leave out or send as null is None."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: int | None = None
    creation_timestamp: datetime | None = None
    deletion_timestamp: datetime | None = None
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None
    owner_references: tuple[OwnerReference, ...] | None = None
    finalizers: tuple[str, ...] | None = None


class View(_Wire, frozen=True, gc=False):
    """What an informer keeps of an object; as it stands, the metadata alone."""

    metadata: ObjectMeta

    @property
    def key(self) -> Key:
        return Key(self.metadata.namespace, self.metadata.name)

    @property
    def labels(self) -> Mapping[str, str]:
        return self.metadata.labels or {}

    @property
    def annotations(self) -> Mapping[str, str]:
        return self.metadata.annotations or {}

    @property
    def controller(self) -> OwnerReference | None:
        """The one owner that manages this object."""
        return next((owner for owner in self.metadata.owner_references or () if owner.controller), None)

    @property
    def deleting(self) -> bool:
        return self.metadata.deletion_timestamp is not None
