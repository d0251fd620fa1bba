"""Carrying out a plan, in its order, as far as the world lets us. Whatever fails is tried in a later pass.

marks      before anything else happens to a worker
pods       deleted and created: nothing of it depends on Slurm answering now
words      drains and undrains; a Slurm that hangs has kept nothing else waiting by then
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from slurmery.doors.concurrency import concurrently, tolerantly
from slurmery.doors.conditions import Problem
from slurmery.doors.pods import WorkerPod
from slurmery.doors.words import Slurm, Told, tell, words
from slurmery.kube.errors import AlreadyExistsError, KubeError
from slurmery.kube.expectations import Expectations
from slurmery.kube.meta import Key, Manifest, Resource, key_of
from slurmery.kube.resources import PERSISTENT_VOLUME_CLAIMS, PODS
from slurmery.slinky.nodeset import marks
from slurmery.workers.model import Cause, Deletion, Plan, Slot
from slurmery.workers.scaling import BURST


class Kube(Protocol):
    """What is needed of the Kubernetes client."""

    def get(self, resource: Resource, key: Key) -> Awaitable[Mapping[str, Any]]: ...
    def create(self, resource: Resource, manifest: Manifest) -> Awaitable[Mapping[str, Any]]: ...
    def patch(self, resource: Resource, key: Key, patch: Manifest) -> Awaitable[Mapping[str, Any]]: ...
    def delete(self, resource: Resource, key: Key, *, uid: str | None = None) -> Awaitable[None]: ...


@dataclass(frozen=True)
class Blueprints:
    """How a worker and its claims are made, and which claims go with a worker that is scaled in."""

    pod: Callable[[Slot], Manifest]
    claims: Callable[[Slot], Sequence[Manifest]] = lambda _: ()
    spent: Callable[[str], Sequence[Key]] = lambda _: ()


@dataclass
class Outcome:
    """What was done, and what could not be."""

    created: list[str] = field(default_factory=list)
    deleted: list[Deletion] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)


class Act:
    """Carries out the plans of one NodeSet."""

    def __init__(self, kube: Kube, expectations: Expectations[Key], owner: Key) -> None:
        self._kube = kube
        self._expectations = expectations
        self._owner = owner

    async def carry_out(
        self,
        plan: Plan,
        pods: Mapping[str, WorkerPod],
        blueprints: Blueprints,
        slurm: Slurm | None,
        told: Told,
    ) -> Outcome:
        """One pass. Raises nothing that only time or a person can mend: that is in the outcome."""
        outcome = Outcome()
        await self._mark(plan, pods, outcome)
        await self._delete(plan.delete[:BURST], pods, blueprints, outcome)
        await self._create(plan.create, blueprints, outcome)
        if slurm:
            outcome.problems += await tell(slurm, told, words(plan))
        return outcome

    async def _mark(self, plan: Plan, pods: Mapping[str, WorkerPod], outcome: Outcome) -> None:
        notes = {name: marks.unmark(pods[name].annotations) for name in plan.unmark}
        notes |= {name: marks.mark(pods[name].annotations, cause) for name, cause in plan.mark.items()}

        async def write(name: str) -> None:
            patch = {"metadata": {"uid": pods[name].metadata.uid, "annotations": notes[name]}}
            await self._kube.patch(PODS, pods[name].key, patch)

        await concurrently(notes, tolerantly(write, "FailedUpdate", outcome.problems))

    async def _delete(
        self,
        deletions: Sequence[Deletion],
        pods: Mapping[str, WorkerPod],
        blueprints: Blueprints,
        outcome: Outcome,
    ) -> None:
        self._expectations.expect(self._owner, [pods[each.pod].metadata.uid for each in deletions])

        async def remove(each: Deletion) -> None:
            pod = pods[each.pod]
            try:
                await self._kube.delete(PODS, pod.key, uid=pod.metadata.uid)
            except KubeError:
                self._expectations.seen(self._owner, pod.metadata.uid)
                raise
            outcome.deleted.append(each)
            if each.why == Cause.SCALE_IN:  # never on an update: the successor wants its data
                for claim in blueprints.spent(each.pod):
                    await self._kube.delete(PERSISTENT_VOLUME_CLAIMS, claim)

        await concurrently(deletions, tolerantly(remove, "FailedDelete", outcome.problems))

    async def _create(self, slots: Sequence[Slot], blueprints: Blueprints, outcome: Outcome) -> None:
        """In growing batches; the first that fails is the last, so that a bad template costs few requests.

        A name or claim that is not free says nothing of the template.
        """
        taken: list[Slot] = []

        async def make(slot: Slot) -> None:
            try:
                for claim in blueprints.claims(slot):
                    await self._create_claim(claim)
                outcome.created.append(await self._create_pod(blueprints.pod(slot)))
            except AlreadyExistsError:
                taken.append(slot)
                raise

        started, size, known = 0, 1, len(outcome.problems)
        while started < len(slots) and len(outcome.problems) == known + len(taken):
            await concurrently(
                slots[started : started + size], tolerantly(make, "FailedCreate", outcome.problems)
            )
            started, size = started + size, size * 2

    async def _create_pod(self, pod: Manifest) -> str:
        name = str(pod["metadata"]["name"])
        self._expectations.expect(self._owner, [name])
        try:
            await self._kube.create(PODS, pod)
        except KubeError:
            self._expectations.seen(self._owner, name)
            raise
        return name

    async def _create_claim(self, claim: Manifest) -> None:
        try:
            await self._kube.create(PERSISTENT_VOLUME_CLAIMS, claim)
        except AlreadyExistsError as taken:  # a claim outlives its pod
            live = await self._kube.get(PERSISTENT_VOLUME_CLAIMS, key_of(claim))
            if "deletionTimestamp" in live["metadata"]:
                name = live["metadata"]["name"]
                words = f"claim {name} of a former worker is still being deleted"
                raise AlreadyExistsError(taken.status, taken.reason, words) from taken
