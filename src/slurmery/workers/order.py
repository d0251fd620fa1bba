"""Who is the least loss: the order in which workers are chosen to leave."""

from typing import Any

from slurmery.workers.model import Worker

_PHASES = {"Pending": 0, "Unknown": 1}


def expendability(worker: Worker) -> tuple[Any, ...]:
    """A sort key: the first of several workers is the one to lose first.

    Not scheduled, not running, not ready; then the user's deletion cost; then the one whose jobs end first;
    cordoned ones; higher ordinals; those ready for a shorter time; younger ones.
    """
    return (
        bool(worker.host),
        _PHASES.get(worker.phase, 2),
        worker.ready,
        worker.deletion_cost,
        worker.deadline if worker.deadline is not None else float("-inf"),
        not worker.cordoned,
        -worker.slot if isinstance(worker.slot, int) else 0,
        -worker.ready_since,
        -worker.created,
        worker.pod,
    )


def busy(worker: Worker) -> bool:
    """Whether jobs may be on it. What is not known to be free counts as busy."""
    return not worker.fresh or (worker.slurm.is_busy if worker.slurm else worker.registered_once)
