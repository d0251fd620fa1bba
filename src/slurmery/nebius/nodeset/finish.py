"""What no apply can do for a NodeSet: drain and renew workers, make ephemeral ones, and tell who is on."""

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, Final

from slurmery.api.nebius import NodeSet
from slurmery.doors import marks
from slurmery.doors.conditions import Condition, Event
from slurmery.doors.report import Reporter
from slurmery.doors.views import Custom
from slurmery.kube.meta import Key, Manifest
from slurmery.nebius.caches import Caches
from slurmery.nebius.crew.crew import Crew
from slurmery.nebius.crew.decide import words
from slurmery.nebius.crew.tidings import tidings
from slurmery.nebius.kinds import NODE_SETS, POWER_STATES
from slurmery.nebius.nodeset import ephemeral
from slurmery.nebius.nodeset.decide import NodeSetPlan
from slurmery.nebius.nodeset.observed import Observed, Whole
from slurmery.nebius.references import cluster_of
from slurmery.nebius.sets import LetGo
from slurmery.workers.model import Slot

_REMEDY: Final = f'Wait for their jobs, or annotate the NodeSet with {marks.FORCE}="true".'


class Finish:
    """Takes the next steps with the workers of NodeSets."""

    def __init__(
        self, crew: Crew, caches: Caches, let_go: LetGo, powers: Reporter, say: Callable[[Key, Event], None]
    ) -> None:
        self._crew = crew
        self._caches = caches
        self._let_go = let_go
        self._powers = powers
        self._say = say

    async def __call__(self, nodeset: NodeSet, plan: NodeSetPlan) -> None:
        """One pass; nothing is done to workers that are not understood."""
        seen = plan.seen
        if seen is None or seen.whole is None or seen.decision is None:
            return
        squad = seen.whole.squad
        key = Key(nodeset.metadata.namespace, nodeset.metadata.name)
        await self._let_go(seen.uid, [key])
        make = partial(_pod, seen.whole, seen.uid) if squad.ordinals is not None else None
        problems = await self._crew.carry_out(squad, seen.decision, make)
        for event in tidings(squad, seen.decision, problems):
            self._say(key, event)
        view = self._caches.custom[POWER_STATES].get(key)
        if view and squad.ordinals is not None:
            known = self._powers.status(view).get("nodeStates") or {}
            await self._powers.report(view, _conditions(seen), _states(view, seen, known))


def needed(crew: Crew, view: Custom) -> str:
    """A NodeSet is needed as long as jobs may run on its workers."""
    cluster = cluster_of(view)
    if cluster is None:
        return ""
    forced = marks.forced(view.annotations)
    staying = crew.staying(cluster, forced=forced, nodeset=view.metadata.name)
    return f"Deletion waits for {len(staying)} workers. {words(staying)} {_REMEDY}" if staying else ""


def _pod(whole: Whole, uid: str, slot: Slot) -> Manifest:
    owner = ephemeral.owner_reference(NODE_SETS.api_version, whole.workers, uid)
    return ephemeral.pod(whole.cluster, whole.workers, whole.versions, owner, int(slot))


def _states(view: Custom, seen: Observed, known: Iterable[str]) -> dict[str, Any]:
    workers = seen.decision.workers if seen.decision else ()
    here = {str(each.slot): {"phase": each.phase, "podName": each.pod} for each in workers}
    # A patch takes away only what it says is gone.
    gone = dict.fromkeys(name for name in known if name not in here)
    return {
        "observedGeneration": view.metadata.generation or 0,
        "activeCount": len(seen.active or ()),
        "nodeStates": {**here, **gone},
    }


def _conditions(seen: Observed) -> tuple[Condition, ...]:
    workers = seen.decision.workers if seen.decision else ()
    wanted = seen.whole.squad.ordinals or frozenset() if seen.whole else frozenset()
    ready = {each.slot for each in workers if each.healthy}
    settled = ready == wanted and len(workers) == len(wanted)
    text = f"{len(ready & wanted)} of {len(wanted)} nodes that are on are ready."
    if settled:
        return (
            Condition("Ready", "True", "NodesReady", text),
            Condition("ScalingInProgress", "False", "Settled", text),
        )
    return (
        Condition("Ready", "False", "NodesNotReady", text),
        Condition("ScalingInProgress", "True", "Scaling", text),
    )
