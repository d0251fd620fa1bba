"""The history of a NodeSet: a ControllerRevision for each template it had, the newest numbered highest.

Looked at only when the template or the pods' hashes are others than last time, so that a settled NodeSet
costs no request. Going back to an earlier template makes its revision the newest again. Revisions that an
earlier operator made are used as they are; those that have lost their owner are adopted.
"""

from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import count
from typing import Any

import msgspec

from slurmery.api.slinky import NodeSet
from slurmery.kube.client import Client
from slurmery.kube.errors import AlreadyExistsError, NotFoundError
from slurmery.kube.meta import Key, View
from slurmery.kube.resources import CONTROLLER_REVISIONS
from slurmery.slinky import names
from slurmery.slinky.nodeset import revision
from slurmery.slinky.nodeset.pods import owner
from slurmery.slinky.nodeset.sameness import same


class Revision(View, frozen=True, gc=False):
    """A ControllerRevision."""

    revision: int = 0
    data: dict[str, Any] | None = None

    @property
    def digest(self) -> str:
        return self.labels.get(names.HASH_LABEL, "")

    @property
    def ours(self) -> bool:
        """Whether this operator made it: upstream's carry no such label."""
        return names.INSTANCE_LABEL in self.labels


@dataclass(frozen=True)
class Newest:
    """What tells the newest pods from older ones, and how many other revisions had the same hash."""

    digest: str
    collisions: int = 0


class History:
    """Keeps the revisions of all NodeSets."""

    def __init__(self, client: Client) -> None:
        self._client = client
        # The newest revision of a NodeSet: of which uid, and of a template with which hash.
        self._newest: dict[Key, tuple[str, str, Newest]] = {}
        # What was kept last: the NodeSet's uid, the newest hash, and those of its pods.
        self._kept: dict[Key, tuple[str, str, frozenset[str]]] = {}

    async def newest(self, nodeset: NodeSet) -> Newest:
        """The revision that the spec asks for: one that is there, or one yet to be made."""
        key, uid, content = _key(nodeset), nodeset.metadata.uid, revision.hash_of(nodeset)
        known = self._newest.get(key)
        if known and known[:2] == (uid, content):
            return known[2]
        found = choose(nodeset, await self._revisions(nodeset))
        self._newest[key] = (uid, content, found)
        return found

    async def keep(self, nodeset: NodeSet, digest: str, in_use: Collection[str]) -> None:
        """Note the newest revision, and forget those beyond the limit that no pod has."""
        key = _key(nodeset)
        state = (nodeset.metadata.uid, digest, frozenset(in_use))
        if self._kept.get(key) == state:
            return
        known = [each for each in await self._revisions(nodeset) if belongs(nodeset, each)]
        for each in known:
            if each.controller is None:
                await self._adopt(nodeset, each)
        last = max((each.revision for each in known), default=0)
        current = next((each for each in known if each.digest == digest), None)
        if current is None:
            await self._create(nodeset, last + 1, digest)
        elif any(each.revision >= current.revision for each in known if each is not current):
            await self._client.patch(CONTROLLER_REVISIONS, current.key, {"revision": last + 1})
        for each in expendable(known, {digest, *in_use}, nodeset.spec.revision_history_limit):
            await self._delete(each)
        self._kept[key] = state

    def forget(self, key: Key) -> None:
        """The NodeSet is gone."""
        self._newest.pop(key, None)
        self._kept.pop(key, None)

    async def _revisions(self, nodeset: NodeSet) -> list[Revision]:
        listed = await self._client.list(CONTROLLER_REVISIONS, nodeset.metadata.namespace, as_=Revision)
        return listed.items

    async def _adopt(self, nodeset: NodeSet, each: Revision) -> None:
        metadata = {"uid": each.metadata.uid, "ownerReferences": [owner(nodeset)]}
        await self._client.patch(CONTROLLER_REVISIONS, each.key, {"metadata": metadata}, kind="strategic")

    async def _create(self, nodeset: NodeSet, number: int, digest: str) -> None:
        manifest = revision.build(nodeset, number, digest)
        metadata = {**manifest["metadata"], "ownerReferences": [owner(nodeset)]}
        try:
            await self._client.create(
                CONTROLLER_REVISIONS,
                {**manifest, "metadata": metadata, "data": msgspec.Raw(revision.text(nodeset).encode())},
            )
        except AlreadyExistsError:
            self._newest.pop(_key(nodeset), None)  # the name was taken meanwhile: another is chosen
            raise

    async def _delete(self, each: Revision) -> None:
        with suppress(NotFoundError):
            await self._client.delete(CONTROLLER_REVISIONS, each.key, uid=each.metadata.uid)


def choose(nodeset: NodeSet, present: Sequence[Revision]) -> Newest:
    """The newest of those that say what the spec says; without one, a hash that no other revision has."""
    wanted, status = revision.data(nodeset), nodeset.status
    collisions = (status.collision_count if status else None) or 0
    equal = [
        each
        for each in present
        if belongs(nodeset, each) and each.digest and same(each.data, wanted, exact=each.ours)
    ]
    if equal:
        reported = status.node_set_hash if status else ""
        best = max(equal, key=lambda each: (each.digest == reported, each.revision, each.metadata.name))
        return Newest(best.digest, collisions)
    taken = {each.metadata.name for each in present}
    candidates = (Newest(revision.hash_of(nodeset, number), number) for number in count(collisions))
    return next(each for each in candidates if f"{nodeset.metadata.name}-{each.digest}" not in taken)


def belongs(nodeset: NodeSet, each: Revision) -> bool:
    """Whether it is the NodeSet's, or was a former one's by this name and is nobody's now."""
    if each.controller:
        return each.controller.uid == nodeset.metadata.uid
    return not each.deleting and each.metadata.name == f"{nodeset.metadata.name}-{each.digest}"


def expendable(known: Sequence[Revision], live: Collection[str], limit: int) -> list[Revision]:
    """The oldest of those that nobody uses, beyond how many are to be kept."""
    unused = sorted((each for each in known if each.digest not in live), key=lambda each: each.revision)
    return unused[: max(len(unused) - max(limit, 0), 0)]


def _key(nodeset: NodeSet) -> Key:
    return Key(nodeset.metadata.namespace, nodeset.metadata.name)
