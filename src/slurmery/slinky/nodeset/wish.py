"""From a NodeSet to what the lifecycle engine is asked for."""

from collections.abc import Sequence

from slurmery.api.slinky import NodeSet
from slurmery.slinky import names
from slurmery.workers.model import Plan, Worker
from slurmery.workers.plan import Wish, plan


def wish(nodeset: NodeSet, revision: str, hosts: frozenset[str] | None) -> Wish:
    """What is wanted of the workers; `hosts` are the fitting nodes in DaemonSet mode, else None."""
    strategy = nodeset.spec.update_strategy
    reservation = names.reservation(nodeset.metadata.name)

    def under_maintenance(worker: Worker) -> bool:
        node = worker.slurm
        return bool(node and "MAINTENANCE" in node.state and node.reservation == reservation)

    return Wish(
        revision=revision,
        prefix=names.REASON_PREFIX,
        replicas=max(nodeset.spec.replicas, 0),
        hosts=hosts,
        strategy=strategy.type,
        max_unavailable=strategy.rolling_update.max_unavailable,
        deleting=nodeset.metadata.deletion_timestamp is not None,
        under_maintenance=under_maintenance,
    )


def decide(wanted: Wish, workers: Sequence[Worker], other_mode: Sequence[Worker]) -> Plan:
    """The next steps. Workers of the other scaling mode stay until all those of this mode are there."""
    ours = plan(wanted, workers)
    complete = not ours.create and not any(worker.terminating for worker in workers)
    kept = 0 if complete else sum(worker.leaving is None for worker in other_mode)
    leftover = Wish(
        revision=wanted.revision,
        prefix=wanted.prefix,
        replicas=kept,
        strategy="OnDelete",
        deleting=wanted.deleting,
    )
    theirs = plan(leftover, other_mode)
    return Plan(
        unmark=(*ours.unmark, *theirs.unmark),
        undrain=(*ours.undrain, *theirs.undrain),
        mark={**ours.mark, **theirs.mark},
        drain=(*ours.drain, *theirs.drain),
        delete=(*ours.delete, *theirs.delete),
        create=ours.create,
        waits=(*ours.waits, *theirs.waits),
    )
