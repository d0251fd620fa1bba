"""What no apply can do for a SlurmCluster: drain workers, renew their pods, and keep it until they may go."""

from collections.abc import Callable
from typing import Final

from slurmery.api.nebius import SlurmCluster
from slurmery.doors import marks
from slurmery.doors.conditions import Event
from slurmery.doors.views import Custom
from slurmery.kube.meta import Key
from slurmery.nebius.crew.crew import Crew
from slurmery.nebius.crew.decide import words
from slurmery.nebius.crew.tidings import tidings
from slurmery.nebius.sets import LetGo
from slurmery.nebius.slurmcluster.decide import ClusterPlan
from slurmery.nebius.slurmcluster.gather import squad

_REMEDY: Final = f'Wait for their jobs, or annotate the cluster with {marks.FORCE}="true".'


async def finish(
    crew: Crew, let_go: LetGo, say: Callable[[Key, Event], None], resource: SlurmCluster, plan: ClusterPlan
) -> None:
    """Hand over pods to new StatefulSets, and take the next steps with the workers of a cluster of 1.22."""
    if plan.wanted:
        at = plan.wanted.names
        await let_go(
            resource.metadata.uid,
            [Key(at.namespace, name) for name in (at.controller, at.login, at.worker)],
        )
    own = squad(resource, plan.wanted) if plan.wanted else None
    if own is None or plan.workers is None:
        return
    problems = await crew.carry_out(own, plan.workers)
    for event in tidings(own, plan.workers, problems):
        say(own.cluster, event)


def needed(crew: Crew, view: Custom) -> str:
    """A cluster is needed as long as jobs may run on its workers."""
    forced = marks.forced(view.annotations)
    staying = crew.staying(view.key, forced=forced)
    if staying:
        return f"Deletion waits for {len(staying)} workers. {words(staying)} {_REMEDY}"
    # Without the cluster nobody could say any more that these are drained.
    others = 0 if forced else crew.left(view.key, of_nodesets=True)
    return f"Deletion waits until {others} drained workers of NodeSets are gone." if others else ""
