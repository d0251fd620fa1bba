"""Does a live object still carry, unchanged, what we applied to it? Answered from its metadata alone.

Two facts about server-side apply make that possible, without knowing any schema, default or notation:

- The API server keeps, per manager, the set of fields it applied (managedFields). Whoever changes the value
  of a field takes it out of the sets of all others. So as long as our set holds every field that we want,
  the values are those that our last apply led to: nothing has drifted.
- What our last apply said is remembered as a digest in an annotation, which is itself one of our fields. So
  if the digest is that of what we want now, there is nothing new to say and nothing left over to take back.

Comparing values instead would have to know every default of every kind ("1000m" is "1", a port without
protocol is TCP), and could still not tell a default within an atomic list from a leftover of ours. As it is,
Secrets and ConfigMaps need not even be fetched: a watch of their metadata is enough.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec
from msgspec.structs import force_setattr

from slurmery.kube.client import MANAGER
from slurmery.kube.meta import Manifest, ObjectMeta, View

ANNOTATION: Final = "slurmery/applied"
# The operators whose objects we take over, by the names under which they wrote: their programs'.
PREDECESSORS: Final = frozenset({"manager", "slurm_operator"})

# Part of every object's identity: the API server keeps no owner for them.
_IDENTITY: Final = frozenset({"apiVersion", "kind"})
_METADATA_IDENTITY: Final = frozenset({"name", "namespace"})


class ManagedFields(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """The fields that one manager owns through one version of the API."""

    manager: str = ""
    operation: str = ""
    subresource: str = ""
    api_version: str = ""
    fields_v1: msgspec.Raw = msgspec.Raw()

    @property
    def ours(self) -> bool:
        return self.manager == MANAGER and self.operation == "Apply" and not self.subresource

    @property
    def inherited(self) -> bool:
        return self.manager in PREDECESSORS and self.operation == "Update" and not self.subresource


class AppliedMeta(ObjectMeta, frozen=True, gc=False):
    """Metadata with what we own or may inherit; the entries of other managers are dropped on decoding."""

    managed_fields: tuple[ManagedFields, ...] | None = None

    def __post_init__(self) -> None:
        ours = tuple(
            # A Raw points into the whole answer that it came in; the copy lets go of that.
            msgspec.structs.replace(entry, fields_v1=entry.fields_v1.copy())
            for entry in self.managed_fields or ()
            if entry.ours or entry.inherited
        )
        force_setattr(self, "managed_fields", ours)


class Footprint(View, frozen=True, gc=False):
    """What an apply left on a live object: the view to watch owned objects with."""

    metadata: AppliedMeta

    @property
    def applied(self) -> tuple[ManagedFields, ...]:
        """What we own."""
        return tuple(entry for entry in self.metadata.managed_fields or () if entry.ours)

    @property
    def unclaimed(self) -> bool:
        """Whether a predecessor's fields are still its own. Once we own any, they are somebody else's."""
        return bool(self.metadata.managed_fields) and not self.applied


def sign(manifest: Manifest) -> Manifest:
    """The manifest with its digest as an annotation: what is sent."""
    canonical = msgspec.json.encode(manifest, order="deterministic")
    digest = hashlib.blake2b(canonical, digest_size=16).hexdigest()
    metadata = manifest["metadata"]
    annotations = {**metadata.get("annotations", {}), ANNOTATION: digest}
    return {**manifest, "metadata": {**metadata, "annotations": annotations}}


def drift(signed: Manifest, live: Footprint) -> str | None:
    """Why the signed manifest must be applied (again), or None if it need not."""
    wanted = signed["metadata"]["annotations"][ANNOTATION]
    if live.annotations.get(ANNOTATION) != wanted:
        return "wanted state changed"
    for entry in live.applied:
        if entry.api_version == signed["apiVersion"]:
            lost = missing(signed, msgspec.json.decode(entry.fields_v1))
            return f"{lost} was changed by somebody else" if lost else None
    return "we own no field of it"


def missing(manifest: Manifest, fields: Mapping[str, Any]) -> str | None:
    """The first field of the manifest, as a path, that is not in a set of fields (FieldsV1)."""
    metadata = {name: value for name, value in manifest["metadata"].items() if name not in _METADATA_IDENTITY}
    body = {name: value for name, value in manifest.items() if name not in _IDENTITY}
    return _in_map({**body, "metadata": metadata}, fields, "")


def _in_value(value: Any, node: Mapping[str, Any], path: str) -> str | None:
    if not node:
        return None  # owned as a whole: a scalar, an atomic map or list
    if isinstance(value, Mapping):
        return _in_map(value, node, path)
    if isinstance(value, Sequence) and not isinstance(value, str):
        return _in_list(value, node, path)
    return None


def _in_map(value: Mapping[str, Any], node: Mapping[str, Any], path: str) -> str | None:
    for name, member in value.items():
        if member is None or member == []:
            continue  # says nothing, owns nothing
        where = f"{path}.{name}" if path else name
        child = node.get(f"f:{name}")
        lost = where if child is None else _in_value(member, child, where)
        if lost:
            return lost
    return None


def _in_list(value: Sequence[Any], node: Mapping[str, Any], path: str) -> str | None:
    """A set owns its members by value (`v:`), a list of maps by the members that are its keys (`k:`)."""
    members = [json.loads(name[2:]) for name in node if name.startswith("v:")]
    items = [(json.loads(name[2:]), child) for name, child in node.items() if name.startswith("k:")]
    if len(value) > len(members) + len(items):
        return path
    for item in value:
        if not isinstance(item, Mapping):
            lost = None if item in members else f"{path}[{item}]"
        else:
            lost = _in_keyed_list(item, items, path)
        if lost:
            return lost
    return None


def _in_keyed_list(
    item: Mapping[str, Any], items: Sequence[tuple[Mapping[str, Any], Mapping[str, Any]]], path: str
) -> str | None:
    # A key that the item leaves out was defaulted by the server (a port's protocol) and is taken as it is.
    for keys, child in items:
        if all(item.get(name, value) == value for name, value in keys.items()):
            return _in_value(item, child, f"{path}[{','.join(str(key) for key in keys.values())}]")
    return path
