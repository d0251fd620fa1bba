"""Pods, nodes and Slurm's word become workers."""

from typing import Any

import pytest

from slurmery.doors.hearing import Slurm
from slurmery.doors.marks import FORCE, LEAVING, leaving
from slurmery.doors.pods import WorkerPod
from slurmery.slinky import names
from slurmery.slinky.nodeset import marks
from slurmery.slinky.nodeset.observe import Scene, host_reason, observe
from slurmery.slinky.nodeset.views import Host
from slurmery.slurm.model import Job
from slurmery.slurm.snapshot import Part, View
from slurmery.workers.model import Cause, Worker
from tests.unit.slinky.fleets import READY_AT, REVISION, host, node, pod, snapshot
from tests.unit.slinky.sets import nodeset

DAEMONS: dict[str, Any] = {"scalingMode": "DaemonSet"}
NOW = READY_AT + 60


def seen(
    one: WorkerPod,
    *,
    slurm: Slurm | None = None,
    hosts: tuple[Host, ...] = (),
    contents: dict[str, str] | None = None,
    metadata: dict[str, Any] | None = None,
    **spec: Any,
) -> Worker:
    by_name = {each.metadata.name: each for each in hosts}
    scene = Scene(nodeset(metadata, **spec), REVISION, contents or {}, by_name, slurm or Slurm(), NOW)
    [worker] = observe(scene, [one])
    return worker


def test_a_healthy_pod_is_a_healthy_worker() -> None:
    worker = seen(pod("gpu-3"), slurm=Slurm(snapshot(node("gpu-3")), clock=101.0))

    assert (worker.pod, worker.slurm_name, worker.slot, worker.host) == ("gpu-3", "gpu-3", 3, "h1")
    assert worker.healthy
    assert worker.available
    assert worker.fresh
    assert worker.registered_once
    assert worker.revision == REVISION
    assert worker.slurm == node("gpu-3")


@pytest.mark.parametrize(
    ("slurm", "fresh"),
    [
        (Slurm(), False),
        (Slurm(snapshot(), clock=101.0), True),
        (Slurm(snapshot(error="no answer"), clock=101.0), False),
        (Slurm(snapshot(), clock=131.0), False),
        (Slurm(snapshot(), told={"gpu-0": 100.5}, clock=101.0), False),
        (Slurm(snapshot(), told={"gpu-0": 99.5}, clock=101.0), False),
        (Slurm(snapshot(), told={"gpu-0": 97.5}, clock=101.0), True),
        (Slurm(snapshot(jobs=View({}, 97.0)), told={"gpu-0": 97.5}, clock=101.0), False),
        (Slurm(snapshot(jobs=View({}, 100.0, "no answer")), clock=101.0), False),
        (Slurm(snapshot(), told={"gpu-1": 100.5}, clock=101.0), True),
    ],
    ids=[
        "never asked",
        "just asked",
        "failed",
        "old",
        "told since",
        "told right before",
        "told before",
        "jobs listed before we told",
        "no list of jobs",
        "told of another",
    ],
)
def test_only_a_recent_answer_that_is_newer_than_our_word_is_fresh(slurm: Slurm, fresh: bool) -> None:
    assert seen(pod(), slurm=slurm).fresh is fresh


@pytest.mark.parametrize("state", ["SUSPENDED", "RUNNING"])
def test_a_job_that_its_node_does_not_own_up_to_keeps_a_worker_busy(state: str) -> None:
    """Slurm shows a node as idle while its job is suspended, and for a moment after a job has started."""
    jobs = View({1: Job(job_id=1, job_state=(state,), nodes="gpu-0")}, 100.0)
    free = snapshot(node("gpu-0", "IDLE", "DRAIN"), asked=frozenset({Part.JOBS}), jobs=View({}, 100.0))
    held = snapshot(node("gpu-0", "IDLE", "DRAIN"), asked=frozenset({Part.JOBS}), jobs=jobs)

    assert _drained(seen(pod(), slurm=Slurm(free, clock=101.0)))
    assert not _drained(seen(pod(), slurm=Slurm(held, clock=101.0)))


def _drained(worker: Worker) -> bool:
    return bool(worker.slurm and worker.slurm.is_drained)


def test_a_worker_that_slurm_has_forgotten_was_registered_once() -> None:
    slurm = Slurm(snapshot(), clock=101.0)
    told = {"type": "SlurmNodeStateIdle", "status": "True"}

    assert seen(pod(conditions=(told,)), slurm=slurm).registered_once
    assert not seen(pod(), slurm=slurm).registered_once


@pytest.mark.parametrize(
    ("notes", "leaving", "cordoned"),
    [
        ({}, None, False),
        ({names.POD_CORDON: "true"}, None, True),
        ({names.POD_CORDON: "True"}, None, True),
        ({names.POD_CORDON: "false"}, None, False),
        ({names.POD_CORDON: "true", LEAVING: "update"}, Cause.UPDATE, False),
        (
            {names.POD_CORDON: "true", LEAVING: "scale-in", marks.CORDONED_BEFORE: "true"},
            Cause.SCALE_IN,
            True,
        ),
        ({LEAVING: "no such cause"}, None, False),
    ],
)
def test_marks_tell_our_cordon_from_a_persons(
    notes: dict[str, str], leaving: Cause | None, cordoned: bool
) -> None:
    worker = seen(pod(annotations=notes))

    assert (worker.leaving, worker.cordoned) == (leaving, cordoned)


def test_a_mark_comes_off_without_taking_a_persons_cordon_along() -> None:
    person, nobody = {names.POD_CORDON: "true"}, dict[str, str]()
    marked = [_patched(notes, marks.mark(notes, Cause.UPDATE)) for notes in (person, nobody)]

    assert [leaving(notes) for notes in marked] == [Cause.UPDATE, Cause.UPDATE]
    assert [_patched(notes, marks.unmark(notes)) for notes in marked] == [person, nobody]


def test_a_changed_cause_keeps_a_persons_cordon() -> None:
    notes = _patched({names.POD_CORDON: "true"}, marks.mark({names.POD_CORDON: "true"}, Cause.UPDATE))
    again = _patched(notes, marks.mark(notes, Cause.SCALE_IN))

    assert marks.cordoned(again)


def _patched(notes: dict[str, str], patch: dict[str, str | None]) -> dict[str, str]:
    return {key: value for key, value in {**notes, **patch}.items() if value is not None}


def test_force_is_said_on_the_pod_or_on_the_nodeset() -> None:
    force = {FORCE: "true"}

    assert not seen(pod()).forced
    assert seen(pod(annotations=force)).forced
    assert seen(pod(), metadata={"annotations": force}).forced


def test_a_worker_is_available_after_being_ready_for_long_enough() -> None:
    assert seen(pod(), minReadySeconds=60).available
    assert not seen(pod(), minReadySeconds=61).available
    assert not seen(pod(conditions=())).available


def test_what_cannot_be_read_counts_as_not_said() -> None:
    given = {names.POD_DELETION_COST: "-5", names.POD_DEADLINE: "2026-01-01T00:00:00Z"}
    garbled = {names.POD_DELETION_COST: "much", names.POD_DEADLINE: "soon"}
    worker, odd = seen(pod(annotations=given)), seen(pod(annotations=garbled))

    assert (worker.deletion_cost, worker.deadline) == (-5, READY_AT)
    assert (odd.deletion_cost, odd.deadline) == (0, None)


def test_a_pod_that_started_with_other_contents_is_old() -> None:
    contents = {names.SLURM_KEY_HASH: "k2"}

    assert seen(pod(annotations={names.SLURM_KEY_HASH: "k1"}), contents=contents).revision != REVISION
    assert seen(pod(), contents=contents).revision == REVISION


def test_a_daemon_pod_fills_its_node_also_before_it_is_there() -> None:
    field = {"key": "metadata.name", "operator": "In", "values": ["h7.example"]}
    required = {"nodeSelectorTerms": [{"matchFields": [field]}]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}
    waiting = pod("gpu-x", nodeName="", affinity=affinity, phase="Pending")

    assert seen(waiting, **DAEMONS).slot == "h7.example"
    assert seen(pod("gpu-x"), **DAEMONS).slot == "h1"


def test_a_daemon_pod_whose_node_is_called_otherwise_by_now_is_old() -> None:
    labels = {names.POD_HOSTNAME_LABEL: "h1"}
    renamed = host(annotations={names.HOSTNAME_OVERRIDE: "worker-1"})

    assert seen(pod("gpu-x", labels=labels), hosts=(host(),), **DAEMONS).revision == REVISION
    assert seen(pod("gpu-x", labels=labels), hosts=(renamed,), **DAEMONS).revision != REVISION


def test_slurm_names_follow_the_host() -> None:
    assert seen(pod(hostname="")).slurm_name == "gpu-0"
    assert seen(pod(hostname="w0")).slurm_name == "w0"
    assert seen(pod(hostNetwork=True)).slurm_name == "h1"
    assert seen(pod("gpu-x", hostname="w0", hostNetwork=True), **DAEMONS).slurm_name == "w0"


DISK = {"type": "Disk", "status": "True", "reason": "Full", "message": "größer wird sie nicht"}
PRESSURE = {"type": "Gpu", "status": "True", "reason": "Xid", "message": "GPU 3 fell off the bus"}


@pytest.mark.parametrize(
    ("machine", "reason"),
    [
        (None, None),
        (host(), None),
        (host(unschedulable=True), ""),
        (host(unschedulable=True, conditions=(PRESSURE,)), "(Xid: GPU 3 fell off the bus)"),
        (host(unschedulable=True, conditions=({**PRESSURE, "status": "False"},)), ""),
        (host(conditions=(PRESSURE,)), None),
        (
            host(
                unschedulable=True,
                annotations={names.NODE_CORDON_REASON: " new\tdisk\x07\n"},
                conditions=(PRESSURE,),
            ),
            "new disk",
        ),
        (
            host(unschedulable=True, conditions=(DISK, PRESSURE, {**DISK, "type": "Other"})),
            "(Xid: GPU 3 fell off the bus); (Full: größer wird sie nicht)",
        ),
    ],
    ids=[
        "gone",
        "open",
        "cordoned",
        "condition",
        "condition not true",
        "condition alone",
        "annotation",
        "two of three conditions",
    ],
)
def test_a_cordoned_node_says_why(machine: Host | None, reason: str | None) -> None:
    assert host_reason(machine, ["Gpu", "Disk"]) == reason


def test_a_reason_is_not_endless() -> None:
    assert (
        len(host_reason(host(unschedulable=True, annotations={names.NODE_CORDON_REASON: "x" * 999})) or "")
        == 256
    )
