"""What becomes of the pods of a StatefulSet whose workers have jobs."""

from datetime import UTC, datetime
from typing import Any

import msgspec

from slurmery.doors.hearing import Slurm
from slurmery.doors.marks import FORCE
from slurmery.doors.pods import WorkerPod
from slurmery.doors.views import Workload
from slurmery.kube.meta import Key
from slurmery.nebius.crew.decide import Decision, Squad, decide, deletions, words
from slurmery.slurm.model import Node
from slurmery.slurm.snapshot import Snapshot, View

CLUSTER = Key("slurm", "orion")
SQUAD = Squad(CLUSTER, "worker", 1, 1)
OURS = "slurm-operator: pod worker-1: it is being scaled in"


def pod(ordinal: int, phase: str = "Running", revision: str = "new", **notes: str) -> WorkerPod:
    now = datetime(2026, 1, 1, tzinfo=UTC).isoformat()
    given: dict[str, Any] = {
        "metadata": {
            "name": f"worker-{ordinal}",
            "namespace": "slurm",
            "uid": f"u-{ordinal}",
            "resourceVersion": "1",
            "labels": {"controller-revision-hash": revision},
            "annotations": {key.replace("__", "/").replace("_", "-"): value for key, value in notes.items()},
        },
        "spec": {"nodeName": "host"},
        "status": {
            "phase": phase,
            "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": now}]
            if phase == "Running"
            else [],
        },
    }
    return msgspec.convert(given, WorkerPod)


def slurm(*states: str, reason: str = "", silent: bool = False) -> Slurm:
    """Of each worker, what Slurm says; "" is not known."""
    nodes = {
        f"worker-{ordinal}": Node(name=f"worker-{ordinal}", state=tuple(state.split("+")), reason=reason)
        for ordinal, state in enumerate(states)
        if state
    }
    error = "no answer" if silent else ""
    return Slurm(Snapshot(nodes=View(nodes, 0.0, error), jobs=View({}, 0.0, error)), {}, 1.0)


def stateful_set(replicas: int, revision: str = "new", observed: int = 2) -> Workload:
    given = {
        "metadata": {"name": "worker", "namespace": "slurm", "resourceVersion": "1", "generation": 2},
        "spec": {"replicas": replicas},
        "status": {"updateRevision": revision, "observedGeneration": observed},
    }
    return msgspec.convert(given, Workload)


def decided(
    replicas: int,
    pods: list[WorkerPod],
    said: Slurm,
    live: Workload | None = None,
    **squad: Any,
) -> Decision:
    wanted = Squad(CLUSTER, "worker", replicas, 1, **squad)
    named = {each.metadata.name: each for each in pods}
    return decide(wanted, named, said, live or stateful_set(len(pods)))


def test_replicas_follow_the_spec_as_far_as_jobs_allow() -> None:
    pods = [pod(0), pod(1), pod(2)]
    assert decided(1, pods, slurm("IDLE", "IDLE+DRAIN", "IDLE+DRAIN")).replicas == 1
    assert decided(1, pods, slurm("IDLE", "ALLOCATED+DRAIN", "IDLE+DRAIN")).replicas == 2
    assert decided(1, pods, slurm("IDLE", "IDLE", "IDLE")).replicas == 3
    assert decided(1, pods, slurm("IDLE", "IDLE+DRAIN", "IDLE+DRAIN", silent=True)).replicas == 3
    assert decided(5, pods, slurm(silent=True)).replicas == 5


def test_what_was_given_up_is_not_asked_back() -> None:
    silent = slurm("IDLE", "IDLE+DRAIN", silent=True)
    assert decided(1, [pod(0), pod(1)], silent, stateful_set(1)).replicas == 1


def test_pods_that_never_ran_go_also_while_slurm_is_silent() -> None:
    assert decided(1, [pod(0), pod(1, "Pending")], slurm("IDLE", silent=True)).replicas == 1


def test_a_pod_that_slurm_once_knew_is_not_taken_for_unborn() -> None:
    lost = slurm("IDLE", "")
    registered = pod(1, slurmery__registered="true")
    assert decided(1, [pod(0), registered], lost).replicas == 2


def test_a_person_may_give_jobs_up() -> None:
    busy = slurm("IDLE", "ALLOCATED", silent=True)
    assert decided(1, [pod(0), pod(1)], busy, forced=True).replicas == 1
    given_up = pod(1, **{FORCE.replace("/", "__"): "true"})
    assert decided(1, [pod(0), given_up], busy).replicas == 1


def test_a_worker_gets_jobs_again_only_when_the_stateful_set_knows_that_it_stays() -> None:
    pods, said = [pod(0), pod(1)], slurm("IDLE", "IDLE+DRAIN", reason=OURS)
    assert decided(2, pods, said, stateful_set(1)).plan.undrain == ()
    assert decided(2, pods, said, stateful_set(2, observed=1)).plan.undrain == ()
    assert decided(2, pods, said, stateful_set(2)).plan.undrain == ("worker-1",)


def test_only_updates_delete_pods_and_only_drained_ones() -> None:
    old = [pod(0, revision="old"), pod(1, revision="old")]
    begun = decided(2, old, slurm("ALLOCATED", "IDLE"))
    assert [each.slurm_name for each in begun.plan.drain] == ["worker-1"]
    assert deletions(SQUAD, begun.plan) == []
    drained = decided(2, old, slurm("ALLOCATED", "IDLE+DRAIN"))
    assert deletions(SQUAD, drained.plan) == ["worker-1"]
    assert deletions(SQUAD, decided(0, old, slurm("IDLE+DRAIN", "IDLE+DRAIN")).plan) == []


def test_nothing_is_updated_while_the_new_revision_is_not_known() -> None:
    old = [pod(0, revision="old")]
    assert not decided(1, old, slurm("IDLE"), stateful_set(1, observed=1)).plan.mark


def test_quiet_workers_need_no_second_look() -> None:
    done = decided(1, [pod(0, slurmery__registered="true")], slurm("ALLOCATED"))
    assert done.look_again is None
    assert not done.restless
    assert done.arrived == ()


def test_waits_are_told_with_a_way_out_while_slurm_is_silent() -> None:
    waits = decided(0, [pod(ordinal) for ordinal in range(5)], slurm(silent=True)).plan.waits
    told = words(waits, "Slurm gives no answer (connection refused).")
    assert "worker-0: scale-in waits: Slurm has not answered recently" in told
    assert "and 2 more" in told
    assert FORCE in told
