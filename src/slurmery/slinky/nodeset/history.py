"""The history of a NodeSet: a ControllerRevision for each template it had, the newest numbered highest.

Looked at only when the hash is another one than last time, so that a settled NodeSet costs no request. Going
back to an earlier template makes its revision the newest again.
"""

from collections.abc import Collection, Sequence
from contextlib import suppress

from slurmery.api.slinky import NodeSet
from slurmery.kube.client import Client
from slurmery.kube.errors import NotFoundError
from slurmery.kube.meta import Key, View
from slurmery.kube.resources import CONTROLLER_REVISIONS
from slurmery.slinky import names
from slurmery.slinky.kinds import NODE_SETS
from slurmery.slinky.nodeset import revision


class Revision(View, frozen=True, gc=False):
    """A ControllerRevision."""

    revision: int = 0

    @property
    def digest(self) -> str:
        return self.labels.get(names.HASH_LABEL, "")


class History:
    """Keeps the revisions of all NodeSets."""

    def __init__(self, client: Client) -> None:
        self._client = client
        # What was kept last: the NodeSet's uid, the newest hash, and those of its pods.
        self._kept: dict[Key, tuple[str, str, frozenset[str]]] = {}

    async def keep(self, nodeset: NodeSet, digest: str, in_use: Collection[str]) -> None:
        """Note the newest revision, and forget those beyond the limit that no pod has."""
        key = Key(nodeset.metadata.namespace, nodeset.metadata.name)
        state = (nodeset.metadata.uid, digest, frozenset(in_use))
        if self._kept.get(key) == state:
            return
        known = await self._revisions(nodeset)
        newest = max((each.revision for each in known), default=0)
        same = next((each for each in known if each.digest == digest), None)
        if same is None:
            await self._create(nodeset, newest + 1)
        elif same.revision < newest:
            await self._client.patch(CONTROLLER_REVISIONS, same.key, {"revision": newest + 1})
        for each in expendable(known, {digest, *in_use}, nodeset.spec.revision_history_limit):
            await self._delete(each)
        self._kept[key] = state

    def forget(self, key: Key) -> None:
        """The NodeSet is gone."""
        self._kept.pop(key, None)

    async def _revisions(self, nodeset: NodeSet) -> list[Revision]:
        listed = await self._client.list(CONTROLLER_REVISIONS, nodeset.metadata.namespace, as_=Revision)
        return [
            each for each in listed.items if each.controller and each.controller.uid == nodeset.metadata.uid
        ]

    async def _create(self, nodeset: NodeSet, number: int) -> None:
        collisions = nodeset.status.collision_count if nodeset.status else None
        manifest = revision.build(nodeset, number, collisions or 0)
        owner = {
            "apiVersion": NODE_SETS.api_version,
            "kind": NODE_SETS.kind,
            "name": nodeset.metadata.name,
            "uid": nodeset.metadata.uid,
            "controller": True,
            "blockOwnerDeletion": True,
        }
        metadata = {**manifest["metadata"], "ownerReferences": [owner]}
        await self._client.create(CONTROLLER_REVISIONS, {**manifest, "metadata": metadata})

    async def _delete(self, each: Revision) -> None:
        with suppress(NotFoundError):
            await self._client.delete(CONTROLLER_REVISIONS, each.key, uid=each.metadata.uid)


def expendable(known: Sequence[Revision], live: Collection[str], limit: int) -> list[Revision]:
    """The oldest of those that nobody uses, beyond how many are to be kept."""
    unused = sorted((each for each in known if each.digest not in live), key=lambda each: each.revision)
    return unused[: max(len(unused) - max(limit, 0), 0)]
