"""What pods are told of their jobs and their place."""

from typing import Any

from slurmery.doors.hearing import Slurm
from slurmery.slinky import names
from slurmery.slinky.nodeset.notes import latest_end, notes
from slurmery.slurm.model import Job, Number
from slurmery.slurm.snapshot import View
from slurmery.workers.model import Worker
from tests.unit.slinky.fleets import host, node, pod, snapshot

WORKER = Worker(pod="gpu-0", slurm_name="gpu-0", slot=0)


def job(number: int, minutes: int | Number, state: str = "RUNNING", nodes: str = "gpu-[0-1]") -> Job:
    return Job(job_id=number, job_state=(state,), nodes=nodes, raw_start_time=3600, raw_time_limit=minutes)


def noted(*jobs: Job, annotations: dict[str, str] | None = None, clock: float = 101.0) -> Any:
    slurm = Slurm(snapshot(node(), jobs=View({each.job_id: each for each in jobs}, 100.0)), clock=clock)
    return notes(WORKER, pod(annotations=annotations), host(), slurm)


def test_the_deadline_is_when_the_last_running_job_must_have_ended() -> None:
    assert noted(job(1, 10), job(2, 30), job(3, 99, nodes="gpu-7"), job(4, 99, "PENDING")) == {
        names.POD_DEADLINE: "1970-01-01T01:30:00Z"
    }


def test_a_deadline_that_is_there_is_not_written_again_and_one_that_has_passed_goes() -> None:
    known = {names.POD_DEADLINE: "1970-01-01T01:10:00Z"}

    assert noted(job(1, 10), annotations=known) == {}
    assert noted(annotations=known) == {names.POD_DEADLINE: None}


def test_without_a_fresh_answer_a_deadline_stays() -> None:
    assert noted(annotations={names.POD_DEADLINE: "1970-01-01T01:10:00Z"}, clock=200.0) == {}


def test_jobs_that_cannot_be_read_change_no_deadline() -> None:
    assert noted(job(1, 10, nodes="gpu-[")) == {}


def test_a_job_without_limit_has_a_deadline_far_away() -> None:
    assert latest_end([job(1, Number(infinite=True))]) == "2262-04-12T00:47:16Z"
    assert latest_end([Job(job_id=1, job_state=("RUNNING",), raw_end_time=60)]) == "1970-01-01T00:01:00Z"


def test_the_place_of_the_kubernetes_node_is_copied_and_taken_back() -> None:
    place = {names.TOPOLOGY_SPEC: "tree:s1"}

    assert notes(WORKER, pod(), host(annotations=place), Slurm()) == place
    assert notes(WORKER, pod(annotations=place), host(annotations=place), Slurm()) == {}
    assert notes(WORKER, pod(annotations=place), host(), Slurm()) == {names.TOPOLOGY_SPEC: ""}
    assert notes(WORKER, pod(annotations=place), None, Slurm()) == {}
