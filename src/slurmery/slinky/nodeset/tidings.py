"""Events about the workers: one for each kind of thing that a pass did, however many pods it did it to."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from slurmery.api.slinky import NodeSet
from slurmery.doors.conditions import Event
from slurmery.slinky.nodeset.act import Outcome
from slurmery.slinky.nodeset.decide import Decision
from slurmery.slinky.nodeset.observe import DAEMON_SET
from slurmery.workers.model import Cause, Worker

_NAMED: Final = 3
_UPDATES: Final = {"RollingUpdate": "RollingUpdate", "ScheduledUpdate": "Scheduled Update"}
_ENDED: Final = {"Failed": "FailedDaemonPod", "Succeeded": "SucceededDaemonPod"}
_FAILURES: Final = {"FailedCreate": "Create", "FailedDelete": "Delete", "FailedUpdate": "Update"}


def tidings(nodeset: NodeSet, decision: Decision, outcome: Outcome) -> Iterator[Event]:
    """What a pass has done, begun, and failed to do."""
    workers = {worker.pod: worker for worker in decision.standing.workers}
    if outcome.created:
        yield Event("Normal", "SuccessfulCreate", "Create", f"Created {_pods(outcome.created)}.")
    yield from _departures(nodeset, outcome, workers)
    yield from _farewells(nodeset, decision, outcome)
    yield from _cordons(decision, workers.values())
    for reason, action in _FAILURES.items():
        messages = [each.message for each in outcome.problems if each.reason == reason]
        if messages:
            more = f" And {len(messages) - 1} more like this." if len(messages) > 1 else ""
            yield Event("Warning", reason, action, f"{min(messages)}{more}")


def _departures(nodeset: NodeSet, outcome: Outcome, workers: dict[str, Worker]) -> Iterator[Event]:
    gone: dict[tuple[str, str], list[str]] = defaultdict(list)
    daemons = nodeset.spec.scaling_mode == DAEMON_SET
    for each in outcome.deleted:
        ended = _ENDED.get(workers[each.pod].phase) if daemons else None
        gone[ended or "SuccessfulDelete", each.why].append(each.pod)
    for (reason, why), pods in sorted(gone.items()):
        yield Event("Normal", reason, "Delete", f"Deleted {_pods(pods)}: {why}.")


def _farewells(nodeset: NodeSet, decision: Decision, outcome: Outcome) -> Iterator[Event]:
    """Who was chosen to leave, and is drained first."""
    gone = {each.pod for each in outcome.deleted}
    chosen: dict[Cause, list[str]] = defaultdict(list)
    for pod, cause in decision.plan.mark.items():
        if pod not in gone:
            chosen[cause].append(pod)
    for cause, pods in sorted(chosen.items()):
        update = _UPDATES.get(nodeset.spec.update_strategy.type, "")
        reason = update if cause is Cause.UPDATE else "ScalingDown"
        yield Event("Normal", reason, "Drain", f"To be drained and deleted, {_pods(pods)}: {cause}.")


def _cordons(decision: Decision, workers: Iterable[Worker]) -> Iterator[Event]:
    drained = {each.slurm_name for each in decision.plan.drain}
    hosts = {
        worker.host for worker in workers if worker.slurm_name in drained and worker.host_reason is not None
    }
    if hosts:
        words = f"Drained in Slurm, as their Kubernetes nodes are cordoned: {_some(sorted(hosts))}."
        yield Event("Normal", "NodeCordon", "Drain", words)


def _pods(names: Sequence[str]) -> str:
    ordered = sorted(names, key=lambda name: (len(name), name))
    return f"pod {names[0]}" if len(names) == 1 else f"{len(names)} pods ({_some(ordered)})"


def _some(names: Sequence[str]) -> str:
    more = [f"{len(names) - _NAMED} more"] if len(names) > _NAMED else []
    return ", ".join([*names[:_NAMED], *more])
