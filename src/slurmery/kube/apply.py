"""Many desired objects in, the fewest writes out.

    desired ─┬─ not served by this cluster ──────────────► NOT_OFFERED
             ├─ absent ──── apply or create ─────────────► CREATED
             ├─ being deleted, or somebody else's ───────► BLOCKED
             ├─ made by a predecessor ── take over, apply ► UPDATED
             ├─ as applied (see ownership) ──────────────► UNCHANGED   no request at all
             └─ drifted, or wanted differently ── apply ─► UPDATED
                     └─ refused: an immutable field
                          ├─ declared safe to recreate ──► RECREATED
                          └─ otherwise ──────────────────► BLOCKED     with a sentence for a condition
    ours, labelled, and not desired any longer ── delete ► PRUNED

What a person has to mend is an outcome; what time mends (conflicts, outages) is raised, after everything else
was tried, for the work queue to retry.
"""

import asyncio
from collections.abc import Collection, Container, Coroutine, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import chain
from typing import Any, Final, TypeVar

import msgspec

from slurmery.kube import metrics
from slurmery.kube.client import Client
from slurmery.kube.desired import Desired, Owner, Policy
from slurmery.kube.discovery import Discovery
from slurmery.kube.errors import (
    AlreadyExistsError,
    ApiError,
    ConflictError,
    ForbiddenError,
    InvalidError,
    NotFoundError,
    NotServedError,
)
from slurmery.kube.inheritance import take_over
from slurmery.kube.logs import logger
from slurmery.kube.meta import Key, Manifest, Resource
from slurmery.kube.observed import Direct, Observed
from slurmery.kube.ownership import Footprint, drift
from slurmery.kube.resources import ROLE_BINDINGS

log = logger("apply")

T = TypeVar("T")

# The words of the API server, under a plain 500, for unknown fields, wrong types and doubled list keys.
_UNTYPED: Final = "failed to create typed patch object"


class Act(StrEnum):
    """What became of an object."""

    CREATED = "created"
    UPDATED = "updated"
    UNCHANGED = "unchanged"
    RECREATED = "recreated"
    PRUNED = "pruned"
    NOT_OFFERED = "not offered"
    BLOCKED = "blocked"


@dataclass(frozen=True)
class Outcome:
    """What became of one object, and why; BLOCKED also comes with a machine word for a condition."""

    act: Act
    resource: Resource
    key: Key
    reason: str = ""
    message: str = ""


class Applier:
    """Brings live objects to the desired state, and keeps them there.

    Guarantees: a converged set of objects costs no write, also in the first pass of a new process. An object
    of another owner is never touched. Deletion hits the very object that was looked at, or nothing.
    """

    def __init__(self, client: Client, observed: Observed, discovery: Discovery) -> None:
        self._client = client
        self._observed = observed
        self._server = Direct(client)
        self._discovery = discovery

    async def apply(
        self, owner: Owner, desired: Sequence[Desired], *, prune: Collection[Resource] = ()
    ) -> list[Outcome]:
        """Apply all, then delete whatever else the owner has of the `prune` resources under its labels.

        Every object gets the owner's labels, and the owner as its controller unless it is not `owned`.
        Outcomes come in the order of `desired`, then those of pruned objects.
        """
        wanted = {(one.resource, one.key) for one in desired}
        if len(wanted) < len(desired):
            raise ValueError("the same object is desired twice")
        # The API server looks at a binding's role: whoever may not bind freely needs that to be there.
        done: dict[tuple[Resource, Key], Outcome] = {}
        for last in (False, True):
            wave = [one for one in desired if (one.resource == ROLE_BINDINGS) is last]
            made = await _all(self._one(owner, owner.stamp(one)) for one in wave)
            done |= {(each.resource, each.key): each for each in made}
        outcomes = [done[one.resource, one.key] for one in desired]
        outcomes += chain(*await _all(self._prune(owner, resource, wanted) for resource in prune))
        for outcome in outcomes:
            metrics.APPLIED.labels(outcome.resource.kind, outcome.act).inc()
        return outcomes

    async def _one(self, owner: Owner, desired: Desired) -> Outcome:
        resource, key = desired.resource, desired.key
        try:
            if not await self._discovery.offers(resource):
                return Outcome(Act.NOT_OFFERED, resource, key)
            live = await self._observed.get(resource, key)
            if live is None:
                return await self._create(owner, desired)
            return await self._meet(owner, desired, live)
        except NotServedError:
            self._discovery.withdrawn(resource)
            return Outcome(Act.NOT_OFFERED, resource, key)
        except ApiError as error:
            if reason := _refusal(error):
                return Outcome(Act.BLOCKED, resource, key, reason, error.message)
            raise

    async def _create(self, owner: Owner, desired: Desired) -> Outcome:
        resource, key = desired.resource, desired.key
        try:
            if desired.policy is Policy.CREATE_ONCE:
                answer = await self._client.create(resource, desired.manifest)
            else:
                # Without force: should there be one after all, unseen, it may be somebody else's.
                answer = await self._client.apply(resource, desired.manifest, force=False)
        except ConflictError:
            live = await self._server.get(resource, key)
            if live is None:
                raise
            return await self._meet(owner, desired, live)
        return self._written(Act.CREATED, desired, answer)

    async def _meet(self, owner: Owner, desired: Desired, live: Footprint) -> Outcome:
        """What to do about an object that exists."""
        resource, key = desired.resource, desired.key
        if live.deleting:
            message = f"{resource.kind} {key} is being deleted and will be made anew once it is gone"
            return Outcome(Act.BLOCKED, resource, key, "Terminating", message)
        ours = owner.owns(live) or owner.may_adopt(live) or desired.inherits(live)
        if desired.owned and not ours:
            message = f"{resource.kind} {key} exists and belongs to {_holder(live)}: rename it or remove it"
            return Outcome(Act.BLOCKED, resource, key, "NotOurs", message)
        why = None if desired.policy is Policy.CREATE_ONCE else drift(desired.manifest, live)
        if why is None:
            return Outcome(Act.UNCHANGED, resource, key)
        if live.unclaimed or desired.inherits(live):
            await take_over(self._client, desired)
        return await self._update(desired, live, why)

    async def _update(self, desired: Desired, live: Footprint, why: str) -> Outcome:
        try:
            answer = await self._client.apply(desired.resource, desired.manifest)
        except InvalidError as error:
            if not await self._valid_anew(desired):
                raise
            return await self._replace(desired, live, error)
        if answer["metadata"]["resourceVersion"] == live.metadata.resource_version:
            return Outcome(Act.UNCHANGED, desired.resource, desired.key)
        return self._written(Act.UPDATED, desired, answer, why)

    async def _valid_anew(self, desired: Desired) -> bool:
        """Whether the API server would take the object if it were new: then it was the change it refused."""
        path = desired.resource.path(desired.key.namespace)
        try:
            await self._client.request("POST", path, params={"dryRun": "All"}, body=desired.manifest)
        except AlreadyExistsError:
            return True
        except InvalidError:
            return False
        return True

    async def _replace(self, desired: Desired, live: Footprint, refusal: InvalidError) -> Outcome:
        resource, key = desired.resource, desired.key
        if desired.policy is Policy.UPDATE:
            fields = ", ".join(sorted({cause.field for cause in refusal.causes}))
            message = f"{resource.kind} {key} cannot be changed in {fields or 'this way'}: {refusal.message}"
            return Outcome(Act.BLOCKED, resource, key, "ImmutableField", message)
        orphan = desired.policy is Policy.RECREATE_ORPHANING
        await self._client.delete(
            resource, key, uid=live.metadata.uid, propagation="Orphan" if orphan else "Background"
        )
        if await self._server.get(resource, key):
            message = (
                f"{resource.kind} {key} is being replaced and will be made anew once the old one is gone"
            )
            return Outcome(Act.BLOCKED, resource, key, "Terminating", message)
        answer = await self._client.apply(resource, desired.manifest, force=False)
        return self._written(Act.RECREATED, desired, answer)

    def _written(self, act: Act, desired: Desired, answer: Manifest, why: str = "") -> Outcome:
        live = msgspec.json.decode(msgspec.json.encode(answer), type=Footprint)
        self._observed.wrote(desired.resource, live)
        log.info("Object applied", kind=desired.resource.kind, object=str(desired.key), act=act, why=why)
        return Outcome(act, desired.resource, desired.key, message=why)

    async def _prune(
        self, owner: Owner, resource: Resource, wanted: Container[tuple[Resource, Key]]
    ) -> list[Outcome]:
        if not await self._discovery.offers(resource):
            return []
        try:
            owned = await self._observed.owned(resource, owner.key.namespace, owner.uid)
        except NotServedError:
            self._discovery.withdrawn(resource)
            return []
        outcomes = []
        for live in owned:
            doomed = owner.labelled(live) and not live.deleting and (resource, live.key) not in wanted
            if doomed and await self._delete(resource, live):
                log.info("Object pruned", kind=resource.kind, object=str(live.key))
                outcomes.append(Outcome(Act.PRUNED, resource, live.key))
        return outcomes

    async def _delete(self, resource: Resource, live: Footprint) -> bool:
        try:
            await self._client.delete(resource, live.key, uid=live.metadata.uid, propagation="Background")
        except (NotFoundError, ConflictError):
            return False  # gone already, or another one by that name
        return True


def _refusal(error: ApiError) -> str | None:
    """The reason if a person has to mend it, None if time may."""
    if isinstance(error, ForbiddenError):
        return "Forbidden"
    return "Invalid" if isinstance(error, InvalidError) or error.message.startswith(_UNTYPED) else None


def _holder(live: Footprint) -> str:
    return f"{live.controller.kind} {live.controller.name}" if live.controller else "somebody else"


async def _all(work: Iterable[Coroutine[Any, Any, T]]) -> list[T]:
    """Run all of it; only then raise the first error, if any, with the others as notes."""
    results = await asyncio.gather(*work, return_exceptions=True)
    errors = [result for result in results if isinstance(result, BaseException)]
    if errors:
        for other in errors[1:]:
            errors[0].add_note(f"and {other!r}")
        raise errors[0]
    return [result for result in results if not isinstance(result, BaseException)]
