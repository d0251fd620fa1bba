"""How many workers, and which: numbered ones up to a count, or one on each fitting node.

A terminating pod is neither kept nor replaced: it does not count when workers are too many, so that none too
many leave; it does count when they are too few, because its slot is filled again when it is gone.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count, islice

from slurmery.workers.model import Cause, Slot, Worker
from slurmery.workers.order import busy, expendability
from slurmery.workers.safety import objection

BURST = 250
"""Pods created in one pass: the API server gets a breath, and a mistake stays small."""


@dataclass(frozen=True)
class Scaling:
    """Slots to fill, and workers without a place."""

    create: tuple[Slot, ...]
    leave: Mapping[str, Cause]


def to_count(workers: Sequence[Worker], replicas: int) -> Scaling:
    """Numbered workers: the lowest free numbers are filled, the most expendable workers leave."""
    staying = [worker for worker in workers if not worker.terminating]
    surplus = len(staying) - replicas
    # Those chosen before are chosen again, so that a drain that was begun is not moved to another node.
    ranked = sorted(staying, key=lambda w: (w.leaving is not Cause.SCALE_IN, *expendability(w)))
    leave = {worker.pod: Cause.SCALE_IN for worker in ranked[: max(surplus, 0)]}
    absent = min(replicas - len(workers), BURST)
    return Scaling(tuple(islice(_free_ordinals(workers), max(absent, 0))), leave)


def in_order(workers: Sequence[Worker], replicas: int) -> Scaling:
    """Workers of a StatefulSet, which fills its numbers itself and can only shrink from the top."""
    above = (worker for worker in workers if not worker.terminating and _ordinal(worker) >= replicas)
    return Scaling((), {worker.pod: Cause.SCALE_IN for worker in above})


def to_ordinals(workers: Sequence[Worker], ordinals: Collection[int]) -> Scaling:
    """Workers of exactly these numbers, with holes between them."""
    gone = (worker for worker in workers if not worker.terminating and worker.slot not in ordinals)
    taken = {worker.slot for worker in workers}
    create = sorted(each for each in ordinals if each not in taken)
    return Scaling(tuple(create[:BURST]), {worker.pod: Cause.SCALE_IN for worker in gone})


def reach(workers: Sequence[Worker], replicas: int) -> int:
    """How many replicas a StatefulSet must keep for now: all up to the highest that may not go."""
    kept = (_ordinal(worker) for worker in workers if not worker.terminating and objection(worker))
    return max(replicas, max(kept, default=-1) + 1)


def to_hosts(workers: Sequence[Worker], hosts: Collection[str]) -> Scaling:
    """One worker on each host: of several, the one with jobs stays."""
    leave: dict[str, Cause] = {}
    occupied: set[Slot] = set()
    # The most valuable first: it takes the host, and the others are duplicates.
    for worker in sorted(workers, key=lambda w: (busy(w), *expendability(w)), reverse=True):
        if worker.terminating:
            continue
        if worker.slot not in hosts:
            leave[worker.pod] = Cause.MISPLACED
        elif worker.slot in occupied:
            leave[worker.pod] = Cause.DUPLICATE
        occupied.add(worker.slot)
    occupied.update(worker.slot for worker in workers)
    return Scaling(tuple(sorted(set(hosts) - occupied)[:BURST]), leave)


def _ordinal(worker: Worker) -> int:
    return worker.slot if isinstance(worker.slot, int) else -1


def _free_ordinals(workers: Sequence[Worker]) -> Iterator[int]:
    taken = {worker.slot for worker in workers}
    return (ordinal for ordinal in count() if ordinal not in taken)
