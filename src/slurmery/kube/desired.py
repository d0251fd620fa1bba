"""What should exist, and on whose behalf."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import Enum, auto
from typing import Any

from slurmery.kube.meta import Key, Manifest, Resource, key_of
from slurmery.kube.ownership import Footprint, sign


class Policy(Enum):
    """What may happen to an object that exists."""

    UPDATE = auto()  # changed in place; an immutable field blocks
    CREATE_ONCE = auto()  # never touched again: generated keys
    RECREATE = auto()  # deleted with its dependents and made anew if an immutable field changes
    RECREATE_ORPHANING = auto()  # the same, but its dependents live on and are adopted: StatefulSets


@dataclass(frozen=True)
class Desired:
    """An object that should exist. Secrets say `data`: of `stringData` the API server keeps no owner."""

    resource: Resource
    manifest: Manifest
    policy: Policy = Policy.UPDATE
    # Whether it belongs to the owner, goes with it, and is pruned; else it outlives everything.
    owned: bool = True
    # The uid of another controller that it may be taken from, because a predecessor of ours set it.
    heir_of: str = ""

    @property
    def key(self) -> Key:
        return key_of(self.manifest)

    def inherits(self, live: Footprint) -> bool:
        """Whether the live object is to be taken from its controller."""
        return bool(self.heir_of) and live.controller is not None and live.controller.uid == self.heir_of


@dataclass(frozen=True)
class Owner:
    """The object on whose behalf we apply, and the labels by which its objects are known."""

    resource: Resource
    key: Key
    uid: str
    labels: Mapping[str, str]

    def owns(self, live: Footprint) -> bool:
        """Whether it is the controller of the object."""
        return live.controller is not None and live.controller.uid == self.uid

    def may_adopt(self, live: Footprint) -> bool:
        """Whether the object has no controller and was ours before: applied by us, or with our labels."""
        return live.controller is None and (bool(live.applied) or self.labelled(live))

    def labelled(self, live: Footprint) -> bool:
        return self.labels.items() <= live.labels.items()

    def stamp(self, desired: Desired) -> Desired:
        """What is sent: with labels, owner reference and, unless it is left alone later, signature."""
        metadata = dict(desired.manifest["metadata"])
        metadata["labels"] = {**metadata.get("labels", {}), **self.labels}
        if desired.owned:
            metadata["ownerReferences"] = [self._reference()]
        manifest: Manifest = {**desired.manifest, "metadata": metadata}
        return replace(desired, manifest=manifest if desired.policy is Policy.CREATE_ONCE else sign(manifest))

    def _reference(self) -> dict[str, Any]:
        return {
            "apiVersion": self.resource.api_version,
            "kind": self.resource.kind,
            "name": self.key.name,
            "uid": self.uid,
            "controller": True,
            "blockOwnerDeletion": True,
        }
