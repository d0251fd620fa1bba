"""What people read about workers in Events."""

from typing import Any

from slurmery.doors.conditions import Problem
from slurmery.slinky.nodeset.act import Outcome
from slurmery.slinky.nodeset.decide import Decision
from slurmery.slinky.nodeset.status import Standing
from slurmery.slinky.nodeset.tidings import tidings
from slurmery.workers.model import Cause, Deletion, Drain, Plan, Worker
from tests.unit.slinky.sets import nodeset


def worker(number: int, **facts: Any) -> Worker:
    return Worker(pod=f"gpu-{number}", slurm_name=f"gpu-{number}", slot=number, **facts)


def told(outcome: Outcome, *workers: Worker, spec: dict[str, Any] | None = None, **plan: Any) -> list[str]:
    decision = Decision(Plan(**plan), Standing(workers, desired=len(workers), revision="new"))
    found = tidings(nodeset(**(spec or {})), decision, outcome)
    return [f"{each.type} {each.reason}: {each.note}" for each in found]


def test_many_pods_of_one_pass_are_one_event() -> None:
    some = Outcome(created=[f"gpu-{number}" for number in range(50)])

    assert told(some) == ["Normal SuccessfulCreate: Created 50 pods (gpu-0, gpu-1, gpu-2, 47 more)."]
    assert told(Outcome(created=["gpu-7"])) == ["Normal SuccessfulCreate: Created pod gpu-7."]


def test_deletions_say_why() -> None:
    deleted = [
        Deletion("gpu-2", "scale-in"),
        Deletion("gpu-1", "scale-in"),
        Deletion("gpu-0", "it ended (failed)"),
    ]
    workers = (worker(0, phase="Failed"), worker(1), worker(2))

    assert told(Outcome(deleted=deleted), *workers) == [
        "Normal SuccessfulDelete: Deleted pod gpu-0: it ended (failed).",
        "Normal SuccessfulDelete: Deleted 2 pods (gpu-1, gpu-2): scale-in.",
    ]
    assert told(Outcome(deleted=deleted[2:]), *workers, spec={"scalingMode": "DaemonSet"}) == [
        "Normal FailedDaemonPod: Deleted pod gpu-0: it ended (failed)."
    ]


def test_who_is_chosen_to_leave_is_told_before_it_goes() -> None:
    mark = {"gpu-0": Cause.UPDATE, "gpu-1": Cause.SCALE_IN, "gpu-2": Cause.UPDATE}
    gone = Outcome(deleted=[Deletion("gpu-2", "update")])

    assert told(gone, worker(2), mark=mark) == [
        "Normal SuccessfulDelete: Deleted pod gpu-2: update.",
        "Normal ScalingDown: To be drained and deleted, pod gpu-1: scale-in.",
        "Normal RollingUpdate: To be drained and deleted, pod gpu-0: update.",
    ]


def test_cordoned_nodes_are_named_once() -> None:
    workers = [worker(n, host="h1", host_reason="") for n in (0, 1)]
    drain = tuple(Drain(each.slurm_name, "cordoned") for each in workers)

    assert told(Outcome(), *workers, drain=drain) == [
        "Normal NodeCordon: Drained in Slurm, as their Kubernetes nodes are cordoned: h1."
    ]


def test_failures_are_warnings_of_upstreams_reasons() -> None:
    problems = [
        Problem("FailedCreate", 'pods "gpu-1" already exists.'),
        Problem("FailedCreate", "no quota left."),
        Problem("FailedDelete", "forbidden."),
        Problem("SlurmUpdateFailed", "Slurm is away."),
    ]

    assert told(Outcome(problems=problems)) == [
        "Warning FailedCreate: no quota left. And 1 more like this.",
        "Warning FailedDelete: forbidden.",
    ]
