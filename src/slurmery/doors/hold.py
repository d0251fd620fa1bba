"""A finalizer of ours: it holds an object that is being deleted for as long as others need it.

With foreground deletion, Kubernetes takes an object's children first. That wish is dropped while the object
is held, or the children would be gone before those who need them; they still go once it is let go.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from slurmery.doors.conditions import PROGRESSING, Condition
from slurmery.doors.plan import P
from slurmery.doors.views import Custom
from slurmery.kube.client import Client
from slurmery.kube.desired import Policy
from slurmery.kube.meta import Resource

FINALIZER: Final = "slurmery/in-use"
DELETING: Final = "Deleting"
_FOREGROUND: Final = "foregroundDeletion"
_ORPHAN: Final = "orphan"
_LOOK_AGAIN_SECONDS: Final = 5.0


@dataclass(frozen=True)
class Hold:
    """How objects of one kind are held; `needed` says by whom one is, in a sentence, or "" if by nobody."""

    client: Client
    resource: Resource
    needed: Callable[[Custom], str]

    async def take(self, view: Custom) -> None:
        """Hold an object, long before anybody deletes it."""
        if FINALIZER not in _finalizers(view):
            await self._set(view, [*_finalizers(view), FINALIZER])

    async def why(self, view: Custom) -> str:
        """Why an object that is being deleted must stay; "" if it was let go."""
        held = _finalizers(view)
        if FINALIZER not in held:
            return ""
        # What is to be orphaned goes alone: its pods and their jobs live on.
        reason = "" if _ORPHAN in held else self.needed(view)
        if not reason:
            await self._set(view, [each for each in held if each != FINALIZER])
        elif _FOREGROUND in held:
            await self._set(view, [each for each in held if each != _FOREGROUND])
        return reason

    async def _set(self, view: Custom, finalizers: Sequence[str]) -> None:
        metadata = {"resourceVersion": view.metadata.resource_version, "finalizers": finalizers}
        await self.client.patch(self.resource, view.key, {"metadata": metadata})


def lasting(plan: P, reason: str, why: str) -> P:
    """The plan of an object that has to wait: what is lost is made anew, nothing else changes."""
    waiting = Condition(PROGRESSING, "True", reason, why)
    return replace(
        plan,
        desired=tuple(replace(each, policy=Policy.CREATE_ONCE) for each in plan.desired),
        conditions=tuple(waiting if each.type == PROGRESSING else each for each in plan.conditions),
        prune=(),
        requeue=_LOOK_AGAIN_SECONDS,
    )


def _finalizers(view: Custom) -> Sequence[str]:
    return view.metadata.finalizers or ()
