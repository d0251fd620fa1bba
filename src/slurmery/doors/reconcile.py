"""What reconciling any kind is: gather, decide, apply, report.

the object is gone, or going      nothing: what it owns goes with it
it is going, but still needed     it is held, and what it owns kept as it is
it does not fit its model         a condition says where
else                              the plan is carried out; what the server refused is said in a condition
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar

from slurmery.api.resource import CustomResource
from slurmery.api.validation import validate
from slurmery.doors.cache import WORKLOADS, Cache
from slurmery.doors.conditions import PROGRESSING, READY, Condition, Problem, degrade, degraded
from slurmery.doors.hold import DELETING, Hold, lasting
from slurmery.doors.plan import P
from slurmery.doors.report import Reporter
from slurmery.doors.views import Custom, M, manifest, read, resource
from slurmery.kube.apply import Act, Applier, Outcome
from slurmery.kube.controller import Result
from slurmery.kube.desired import Owner
from slurmery.kube.meta import Key

_WRITTEN: Final = frozenset({Act.CREATED, Act.UPDATED, Act.RECREATED})
_WATCH_SECONDS: Final = 1.0
# What was in the way need not be watched by us: a quota, a namesake of somebody else.
_REFUSED_SECONDS: Final = 60.0

G = TypeVar("G")


@dataclass(frozen=True)
class Kind(Generic[M, G, P]):
    """What is special about a kind.

    `gather` finds all that a decision needs, time and randomness too; `decide` is pure. `labels` are those of
    everything that an object of this name owns. `status` are fields beside the conditions, and `finish` is
    what no apply can do. `essential` says that without any one of its objects it cannot be ready; `hold` is
    who needs an object that somebody deletes.
    """

    model: type[M]
    gather: Callable[[M], Awaitable[G]]
    decide: Callable[[M, G], P]
    labels: Callable[[str], Mapping[str, str]]
    status: Callable[[M, G, P], Mapping[str, Any]] = lambda *_: {}
    finish: Callable[[M, P], Awaitable[None]] | None = None
    essential: bool = False
    hold: Hold | None = None


class Reconcile(Generic[M, G, P]):
    """Makes the world match one object of a kind, and says how it stands."""

    def __init__(
        self, kind: Kind[M, G, P], views: Cache[Custom], applier: Applier, reporter: Reporter
    ) -> None:
        self._kind = kind
        self._views = views
        self._applier = applier
        self._reporter = reporter

    async def __call__(self, key: Key, /) -> Result:
        view = self._views.get(key)
        kept = await self._kept(view) if view else ""
        if view is None or (view.deleting and not kept):
            self._reporter.forget(key)
            return Result()
        try:
            model = read(self._kind.model, view)
        except ValueError as error:
            await self._reporter.report(view, misfit(self._kind.model, view, error), {})
            return Result()
        kind = self._kind
        gathered = await kind.gather(model)
        decided = kind.decide(model, gathered)
        plan = lasting(decided, DELETING, kept) if kept else decided
        outcomes = await self._apply(view, plan)
        self._reporter.tell(view, outcomes)
        if kind.finish:
            await kind.finish(model, plan)
        if any(each.act in _WRITTEN and each.resource in WORKLOADS for each in outcomes):
            # What its pods do is known when the watch brings it, which wakes us: one report instead of two.
            return Result(_WATCH_SECONDS)
        refused = [Problem(each.reason, each.message) for each in outcomes if each.act is Act.BLOCKED]
        # An essential object that was refused has nothing to tell of.
        beside = {} if refused and kind.essential else kind.status(model, gathered, plan)
        await self._reporter.report(view, self._conditions(plan, refused), beside)
        return Result(_REFUSED_SECONDS if refused and plan.requeue is None else plan.requeue)

    async def _kept(self, view: Custom) -> str:
        """Why an object that is being deleted is kept for now."""
        hold = self._kind.hold
        if hold is None:
            return ""
        if view.deleting:
            return await hold.why(view)
        await hold.take(view)
        return ""

    def _conditions(self, plan: P, refused: list[Problem]) -> tuple[Condition, ...]:
        conditions = degrade(plan.conditions, refused)
        if not refused or not self._kind.essential:
            return conditions
        unready = Condition(READY, "False", refused[0].reason, refused[0].message)
        return tuple(unready if each.type == READY else each for each in conditions)

    async def _apply(self, view: Custom, plan: P) -> list[Outcome]:
        labels = self._kind.labels(view.metadata.name)
        owner = Owner(resource(self._kind.model), view.key, view.metadata.uid, labels)
        return await self._applier.apply(owner, plan.desired, prune=plan.prune)


_NOTHING: Final = "Nothing is changed until the spec can be read."


def misfit(kind: type[CustomResource], view: Custom, error: ValueError) -> tuple[Condition, ...]:
    """What is said of an object that does not fit its model."""
    faults = [str(each) for each in validate({**manifest(kind, view)}) if not each.warning]
    problem = Problem("InvalidSpec", "; ".join(faults) or str(error))
    return (
        Condition(READY, "Unknown", problem.reason, _NOTHING),
        Condition(PROGRESSING, "False", problem.reason, _NOTHING),
        degraded([problem]),
    )
