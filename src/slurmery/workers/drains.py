"""Drains and their owners.

A drain whose reason starts with our prefix is ours to undo. Any other belongs to a person or a program that
we do not know, and is left as it is: neither its reason nor the drain is touched. A node that is down for a
reason of another's is not drained for a cordon either: it takes no jobs, and when the cordon ends, the drain
could not be told to be ours.
"""

from collections.abc import Iterable, Mapping

from slurmery.workers.model import Cause, Drain, Worker

_LEAVING = {
    Cause.DELETION: "its NodeSet is being deleted",
    Cause.SCALE_IN: "it is being scaled in",
    Cause.DUPLICATE: "its Kubernetes node has another worker",
    Cause.MISPLACED: "its Kubernetes node no longer fits",
    Cause.UPDATE: "it is being updated",
}


def reason(worker: Worker, leave: Mapping[str, Cause]) -> str | None:
    """Why the worker should be drained, without the prefix; None if it should not."""
    cause = leave.get(worker.pod)
    if cause is not None:
        return f"pod {worker.pod}: {_LEAVING[cause]}"
    if worker.host_reason is not None:
        return worker.host_reason or f"node {worker.host} of pod {worker.pod} is cordoned"
    if worker.cordoned:
        return f"pod {worker.pod} is cordoned"
    return None


def settle(
    workers: Iterable[Worker], leave: Mapping[str, Cause], prefix: str
) -> tuple[tuple[Drain, ...], tuple[str, ...]]:
    """The drains to set and those to undo. Without a fresh answer there is nothing to judge by."""
    drain: list[Drain] = []
    undrain: list[str] = []
    for worker in workers:
        if not worker.fresh or worker.slurm is None or worker.terminating:
            continue
        wanted, node = reason(worker, leave), worker.slurm
        if wanted is not None and not node.has_drain:
            foreign = bool(node.reason) and not node.reason.startswith(prefix)
            if worker.pod in leave or not foreign:
                drain.append(Drain(worker.slurm_name, "" if foreign else f"{prefix}{wanted}"))
        elif wanted is None and node.drain_owner([prefix]):
            undrain.append(worker.slurm_name)
    return tuple(drain), tuple(undrain)
