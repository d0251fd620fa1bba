"""Jobs as metrics, one by one."""

import pytest

from slurmery.exporter.jobs import JobWriter, resources
from slurmery.exporter.page import Block
from slurmery.exporter.scope import Generation, Scope
from slurmery.slurm.model import Job, Number
from tests.unit.exporter.parsed import jobs, names, of, one, parsed
from tests.unit.slurm.recordings import RELEASES

NOW = 2_000_000_000
JOB_INFO_1_22 = {
    *("job_id", "job_state", "job_state_reason", "slurm_partition", "job_name", "user_name", "user_id"),
    *("standard_error", "standard_output", "array_job_id", "array_task_id"),
    *("submit_time", "start_time", "end_time", "finished_time"),
}
OLD = Scope(generation=Generation.V1_22)


async def blocks(
    *these: Job, scope: Scope | None = None, groups: dict[str, str] | None = None
) -> list[Block]:
    steady, durations = await JobWriter(scope or Scope(), groups or {}).write(these)
    return [*steady, durations.block(NOW)]


@pytest.mark.parametrize(
    ("scope", "info", "place"),
    [
        (OLD, JOB_INFO_1_22, {"job_id", "node_name"}),
        (
            Scope(),
            JOB_INFO_1_22 | {"user_mail"},
            {"job_id", "node_name", "nvlink_instance_group", "nodeset_name"},
        ),
    ],
)
async def test_labels_are_those_of_the_generation(scope: Scope, info: set[str], place: set[str]) -> None:
    series = parsed(await blocks(*jobs(), scope=scope))

    assert {frozenset(labels) for labels, _ in of(series, "slurm_job_info")} == {frozenset(info)}
    assert {frozenset(labels) for labels, _ in of(series, "slurm_node_job")} == {frozenset(place)}
    assert {frozenset(labels) for labels, _ in of(series, "slurm_job_duration_seconds")} == {
        frozenset({"job_id"})
    }


async def test_the_old_generation_has_no_new_families() -> None:
    assert names(parsed(await blocks(*jobs(), scope=OLD))) == {
        *("slurm_job_info", "slurm_node_job", "slurm_job_duration_seconds", "slurm_exporter_jobs_omitted"),
    }


@pytest.mark.parametrize(("release", "version"), RELEASES)
async def test_every_recorded_answer_shows_its_jobs(release: str, version: str) -> None:
    recorded = jobs(release, version)
    series = parsed(await blocks(*recorded))
    [train] = [str(job.job_id) for job in recorded if job.name == "train"]

    states = {labels["job_name"]: labels["job_state"] for labels, _ in of(series, "slurm_job_info")}
    assert states == {
        "done": "COMPLETED",
        "train": "RUNNING",
        "frozen": "SUSPENDED",
        "sweep": "PENDING",
        "caf\ufffd": "PENDING",
    }
    assert one(series, "slurm_node_job", job_id=train, node_name="n0") == 1
    assert one(series, "slurm_job_cpus", job_id=train) == 1
    assert one(series, "slurm_job_memory_bytes", job_id=train) == 100 * 2**20
    assert one(series, "slurm_job_duration_seconds", job_id=train) > 0


async def test_a_job_is_on_each_of_its_nodes() -> None:
    job = Job(job_id=1, job_state=("RUNNING",), nodes="worker-[1,2]")
    series = parsed(await blocks(job, groups={"worker-1": "b1"}))

    assert (
        one(series, "slurm_node_job", node_name="worker-1", nvlink_instance_group="b1", nodeset_name="worker")
        == 1
    )
    assert (
        one(series, "slurm_node_job", node_name="worker-2", nvlink_instance_group="", nodeset_name="worker")
        == 1
    )


async def test_a_running_task_of_an_array_without_end() -> None:
    job = Job(
        job_id=5,
        job_state=("RUNNING",),
        raw_array_task_id=3,
        raw_submit_time=NOW - 90,
        raw_start_time=NOW - 60,
    )
    series = parsed(await blocks(job))

    [(labels, _)] = of(series, "slurm_job_info")
    assert (labels["array_job_id"], labels["array_task_id"]) == ("", "3")
    assert (labels["submit_time"], labels["start_time"]) == (str(NOW - 90), str(NOW - 60))
    assert (labels["end_time"], labels["finished_time"]) == ("", "")
    assert one(series, "slurm_job_duration_seconds") == 60


@pytest.mark.parametrize(
    ("state", "start", "end", "finished", "duration"),
    [
        ("COMPLETED", NOW - 31, NOW, str(NOW), 31),
        ("RUNNING", NOW - 31, NOW + 600, "", 31),
        ("SUSPENDED", NOW - 31, 0, "", 31),
        ("FAILED", NOW - 31, 0, "", None),
        ("PENDING", 0, 0, "", None),
        ("PENDING", NOW + 60, NOW + 600, "", None),
        ("CANCELLED", NOW - 31, NOW - 40, str(NOW - 40), 0),
    ],
)
async def test_times(state: str, start: int, end: int, finished: str, duration: float | None) -> None:
    job = Job(
        job_id=1, job_state=(state,), raw_start_time=Number(number=start), raw_end_time=Number(number=end)
    )
    series = parsed(await blocks(job))

    [(labels, _)] = of(series, "slurm_job_info")
    assert labels["finished_time"] == finished
    assert [value for _, value in of(series, "slurm_job_duration_seconds")] == (
        [] if duration is None else [duration]
    )


async def test_a_user_without_a_name_goes_by_the_group() -> None:
    [(labels, _)] = of(parsed(await blocks(Job(job_id=1, group_name="lab", user_id=2001))), "slurm_job_info")

    assert (labels["user_name"], labels["user_id"]) == ("lab", "2001")


@pytest.mark.parametrize(
    ("allocated", "requested", "cpu", "memory"),
    [
        ("cpu=4,mem=8G", "cpu=1,mem=1G", 4, 8 * 2**30),
        ("", "cpu=1,mem=7812.50G", 1, 8388608000000),
        ("cpu=4", "cpu=1,mem=1G", 4, 2**30),
        ("mem=8G", "cpu=2,mem=1G", 2, 8 * 2**30),
        ("cpu=what", "cpu=2", 2, 0),
    ],
)
def test_amounts_are_those_allocated_else_those_requested(
    allocated: str, requested: str, cpu: int, memory: int
) -> None:
    amounts = resources(Job(job_id=1, tres_alloc_str=allocated, tres_req_str=requested))

    assert (amounts.cpu, amounts.memory) == (cpu, memory)


def test_what_accounting_does_not_track_is_taken_from_what_was_asked_for_on_each_node() -> None:
    job = Job(
        job_id=1,
        tres_req_str="cpu=2,node=3",
        tres_per_node="gres/gpu:h200:8",
        raw_memory_per_node=Number(number=1000),
    )
    amounts = resources(job)

    assert (amounts.memory, amounts.gpus) == (3000 * 2**20, 24)


async def test_unknown_amounts_are_left_out() -> None:
    series = parsed(await blocks(Job(job_id=1)))

    assert not names(series) & {"slurm_job_cpus", "slurm_job_memory_bytes"}


async def test_nodes_that_cannot_be_read_cost_only_themselves() -> None:
    series = parsed(await blocks(Job(job_id=1, nodes="n[1-"), Job(job_id=2, nodes="n1")))

    assert len(of(series, "slurm_job_info")) == 2
    assert [labels["job_id"] for labels, _ in of(series, "slurm_node_job")] == ["2"]


async def test_too_many_jobs_leave_out_the_oldest_finished_ones() -> None:
    these = [
        *(Job(job_id=number, job_state=("COMPLETED",)) for number in range(1, 11)),
        *(Job(job_id=number, job_state=("PENDING",)) for number in range(11, 16)),
    ]
    series = parsed(await blocks(*these, scope=Scope(max_job_series=4 * 7)))

    assert {labels["job_id"] for labels, _ in of(series, "slurm_job_info")} == {
        *("11", "12", "13", "14", "15"), *("9", "10")
    }  # fmt: skip
    assert one(series, "slurm_exporter_jobs_omitted") == 8


async def test_labels_can_be_left_out() -> None:
    scope = Scope(omitted_labels=frozenset({"standard_output", "standard_error", "job_name"}))

    [(labels, _)] = of(parsed(await blocks(Job(job_id=1), scope=scope)), "slurm_job_info")

    assert set(labels) == (JOB_INFO_1_22 | {"user_mail"}) - scope.omitted_labels


def test_a_label_that_series_are_told_apart_by_cannot_be_left_out() -> None:
    with pytest.raises(ValueError, match="job_id"):
        Scope(omitted_labels=frozenset({"job_id"}))
