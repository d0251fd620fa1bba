"""From what is wanted of a StatefulSet's workers to the next steps. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from slurmery.doors import marks
from slurmery.doors.hearing import Slurm
from slurmery.doors.pods import WorkerPod
from slurmery.doors.views import Workload
from slurmery.kube.meta import Key
from slurmery.nebius.crew.observe import arrived, observe
from slurmery.workers.model import Cause, Plan, Wait, Worker
from slurmery.workers.order import busy
from slurmery.workers.plan import Wish, plan
from slurmery.workers.scaling import reach

_NAMED: Final = 3
_SOON: Final = 3.0
_LATER: Final = 30.0
# A StatefulSet deletes these pods itself, when it has fewer replicas.
_SHRINKING: Final = frozenset({Cause.SCALE_IN, Cause.DELETION})


@dataclass(frozen=True)
class Squad:
    """What is wanted of like workers; `nodeset` is empty in a cluster of 1.22.

    They are the pods of the StatefulSet `name`, or, where `ordinals` says which there should be, pods that we
    make ourselves, of this `revision`.
    """

    cluster: Key
    name: str
    replicas: int
    max_unavailable: int | str
    nodeset: str = ""
    ordinals: frozenset[int] | None = None
    revision: str = ""
    deleting: bool = False
    forced: bool = False


@dataclass(frozen=True)
class Decision:
    """The next steps; `replicas` is how few the StatefulSet may have, `arrived` whom Slurm knows by now."""

    replicas: int
    plan: Plan = field(default_factory=Plan)
    workers: Sequence[Worker] = ()
    arrived: Sequence[str] = ()

    @property
    def left(self) -> int:
        """How many workers are there and not on their way out."""
        return sum(not worker.terminating for worker in self.workers)

    @property
    def restless(self) -> bool:
        """Whether Slurm's next word may matter."""
        steps = self.plan
        begun = steps.mark or steps.unmark or steps.drain or steps.undrain or steps.delete or steps.waits
        unknown = any(each.phase == "Running" and not each.registered_once for each in self.workers)
        marked = any(each.leaving or not each.fresh for each in self.workers)
        return bool(begun) or unknown or marked

    @property
    def look_again(self) -> float | None:
        """When to look again though nobody calls; the end of a job is news, that Slurm settled is not."""
        steps = self.plan
        begun = steps.mark or steps.unmark or steps.drain or steps.undrain or steps.delete or steps.create
        waiting = {each.pod for each in steps.waits}
        unsettled = any(
            each.leaving and not (each.pod in waiting and each.fresh and busy(each)) for each in self.workers
        )
        return _SOON if begun or unsettled else _LATER if waiting else None


def decide(
    squad: Squad, pods: Mapping[str, WorkerPod], slurm: Slurm, stateful_set: Workload | None
) -> Decision:
    """From all that is known."""
    if squad.ordinals is not None:
        return _of_our_own(squad, squad.ordinals, pods, slurm)
    workers = [observe(pod, slurm, forced=squad.forced) for pod in pods.values()]
    revision = stateful_set.revision if stateful_set else ""
    wish = Wish(
        revision=revision,
        prefix=marks.REASON_PREFIX,
        replicas=squad.replicas,
        in_order=True,
        strategy="RollingUpdate" if revision else "OnDelete",
        max_unavailable=squad.max_unavailable,
        deleting=squad.deleting,
    )
    steps = plan(wish, workers)
    wanted = 0 if squad.deleting else squad.replicas
    kept = reach(workers, wanted)
    # Those above its replicas are on their way out: what Slurm says by now brings none of them back.
    bound = max(stateful_set.spec.replicas, wanted) if stateful_set else kept
    replicas = min(kept, bound)
    # A StatefulSet that has not seen its replicas yet may still delete a worker that it is to keep.
    settled = bool(revision) and stateful_set is not None and stateful_set.spec.replicas == replicas
    return Decision(
        replicas=replicas,
        plan=steps if settled else replace(steps, undrain=()),
        workers=tuple(workers),
        arrived=tuple(each.pod for each in workers if arrived(pods[each.pod], each)),
    )


def _of_our_own(
    squad: Squad, ordinals: frozenset[int], pods: Mapping[str, WorkerPod], slurm: Slurm
) -> Decision:
    workers = [observe(pod, slurm, forced=squad.forced) for pod in pods.values()]
    wish = Wish(
        revision=squad.revision,
        prefix=marks.REASON_PREFIX,
        ordinals=ordinals,
        strategy="RollingUpdate" if squad.revision else "OnDelete",
        max_unavailable=squad.max_unavailable,
        deleting=squad.deleting,
    )
    steps = plan(wish, workers)
    # A drain of ours that outlived its pod would keep Slurm from ever powering the node up again.
    absent = (f"{squad.name}-{number}" for number in range(squad.replicas))
    left = [name for name in absent if name not in pods and _ours(slurm, name)]
    return Decision(
        replicas=len(ordinals),
        plan=replace(steps, undrain=(*steps.undrain, *left)),
        workers=tuple(workers),
        arrived=tuple(each.pod for each in workers if arrived(pods[each.pod], each)),
    )


def _ours(slurm: Slurm, name: str) -> bool:
    node = slurm.node(name)
    return node is not None and slurm.fresh(name) and node.drain_owner([marks.REASON_PREFIX]) is not None


def deletions(squad: Squad, steps: Plan) -> list[str]:
    """The pods that are for us to delete."""
    kept = _SHRINKING if squad.ordinals is None else frozenset()
    return [each.pod for each in steps.delete if each.why not in kept]


def words(waits: Sequence[Wait], silence: str = "") -> str:
    """What is waited for, in a sentence or two; `silence` is why Slurm says nothing, if it does not."""
    if not waits:
        return ""
    told = "; ".join(f"{each.pod}: {each.why}" for each in waits[:_NAMED])
    more = f"; and {len(waits) - _NAMED} more" if len(waits) > _NAMED else ""
    remedy = f' {silence} Annotate with {marks.FORCE}="true" if its jobs do not matter.' if silence else ""
    return f"{told}{more}.{remedy}"
