"""From what is wanted and what is observed to what to do now.

Guarantees, whatever is observed and however often this runs:

- no pod is deleted while a job may be on it, unless a person forced it;
- a rollout takes no more available workers away than its budget;
- a drain that is not ours is neither changed nor undone;
- without an answer from Slurm, pods are still created and those that never ran are still repaired.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from slurmery.workers import drains, rollout, safety, scaling
from slurmery.workers.model import Cause, Deletion, Plan, Wait, Worker

Strategy = Literal["RollingUpdate", "OnDelete", "ScheduledUpdate"]


@dataclass(frozen=True)
class Wish:
    """What the user wants of a set of workers."""

    revision: str
    prefix: str
    """What our drain reasons begin with."""
    replicas: int = 0
    hosts: frozenset[str] | None = None
    """One worker on each of these, instead of `replicas` numbered ones."""
    in_order: bool = False
    """The pods are a StatefulSet's: the highest numbers leave, and deletions to scale in are not for pods."""
    ordinals: frozenset[int] | None = None
    """Workers of exactly these numbers, instead of `replicas` of them."""
    strategy: Strategy = "RollingUpdate"
    max_unavailable: int | str = "25%"
    deleting: bool = False
    under_maintenance: Callable[[Worker], bool] = lambda _: False


def plan(wish: Wish, workers: Sequence[Worker]) -> Plan:
    """The next steps."""
    scale = _scale(wish, workers)
    leave = dict(scale.leave)
    staying = [w for w in workers if w.pod not in leave]
    leave |= dict.fromkeys(_outdated(wish, staying), Cause.UPDATE)
    drain, undrain = drains.settle(workers, leave, wish.prefix)
    live = [w for w in workers if not w.terminating]
    delete, waits = _departures(live, leave)
    return Plan(
        create=scale.create,
        mark={w.pod: leave[w.pod] for w in live if w.pod in leave and w.leaving is not leave[w.pod]},
        unmark=tuple(w.pod for w in live if w.leaving and w.pod not in leave and _given_back(w, wish.prefix)),
        drain=drain,
        undrain=undrain,
        delete=delete,
        waits=waits,
    )


def _given_back(worker: Worker, prefix: str) -> bool:
    """Whether Slurm may use the worker again. Until then its mark stays, and it counts as taken away."""
    return worker.fresh and (worker.slurm is None or worker.slurm.drain_owner([prefix]) is None)


def _scale(wish: Wish, workers: Sequence[Worker]) -> scaling.Scaling:
    if wish.deleting:
        return scaling.Scaling((), {w.pod: Cause.DELETION for w in workers if not w.terminating})
    if wish.hosts is not None:
        return scaling.to_hosts(workers, wish.hosts)
    if wish.ordinals is not None:
        return scaling.to_ordinals(workers, wish.ordinals)
    if wish.in_order:
        return scaling.in_order(workers, wish.replicas)
    return scaling.to_count(workers, wish.replicas)


def _outdated(wish: Wish, staying: Sequence[Worker]) -> tuple[str, ...]:
    match wish.strategy:
        case "RollingUpdate":
            return rollout.rolling(staying, wish.revision, _wanted(wish), wish.max_unavailable)
        case "ScheduledUpdate":
            return rollout.scheduled(staying, wish.revision, wish.under_maintenance)
        case "OnDelete":
            return ()


def _wanted(wish: Wish) -> int:
    named = wish.hosts if wish.hosts is not None else wish.ordinals
    return len(named) if named is not None else wish.replicas


def _departures(
    workers: Sequence[Worker], leave: Mapping[str, Cause]
) -> tuple[tuple[Deletion, ...], tuple[Wait, ...]]:
    delete: list[Deletion] = []
    waits: list[Wait] = []
    for worker in workers:
        cause = leave.get(worker.pod)
        if worker.ended:
            delete.append(Deletion(worker.pod, f"it ended ({worker.phase.lower()})"))
        elif cause is not None:
            objection = safety.objection(worker)
            if objection:
                waits.append(Wait(worker.pod, f"{cause} waits: {objection}"))
            else:
                delete.append(Deletion(worker.pod, str(cause)))
    return tuple(delete), tuple(waits)
