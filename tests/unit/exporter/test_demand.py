"""What autoscalers read: who waits for how much, and who has it."""

import msgspec
import pytest

from slurmery.exporter import demand
from slurmery.slurm.model import Job
from tests.unit.exporter.parsed import Series, jobs, of, one, parsed


async def sums(*these: Job, partitions: tuple[str, ...] = ()) -> Series:
    return parsed(demand.blocks(await demand.tallies(these), partitions))


def waiting(reason: str = "Resources", **fields: object) -> Job:
    job = Job(
        job_id=1,
        job_state=("PENDING",),
        state_reason=reason,
        partition="gpu",
        account="physics",
        user_name="alice",
        tres_req_str="cpu=32,mem=1G,node=2,gres/gpu=16",
    )
    return msgspec.structs.replace(job, **fields)


async def test_a_waiting_job_asks_for_nodes_and_gpus() -> None:
    series = await sums(waiting())

    for by, label in (
        ("partition", {"partition": "gpu"}),
        ("account", {"account": "physics"}),
        ("user", {"username": "alice"}),
    ):
        assert of(series, f"slurm_{by}_jobs_pending") == [(label, 1)]
        assert of(series, f"slurm_{by}_pending_nodes") == [(label, 2)]
        assert of(series, f"slurm_{by}_pending_gpus") == [(label, 16)]
        assert of(series, f"slurm_{by}_pending_cpus") == [(label, 32)]
        assert of(series, f"slurm_{by}_jobs_running") == of(series, f"slurm_{by}_jobs_hold") == [(label, 0)]


async def test_a_running_job_has_what_it_has() -> None:
    job = waiting("None", job_state=("RUNNING",), nodes="n[1-2]", tres_alloc_str="cpu=64,node=2,gres/gpu=16")
    series = await sums(job)

    assert (
        one(series, "slurm_account_jobs_running", account="physics") == one(series, "slurm_jobs_running") == 1
    )
    assert one(series, "slurm_account_jobs_gpus_alloc", account="physics") == 16
    assert one(series, "slurm_account_jobs_cpus_alloc", account="physics") == 64
    assert one(series, "slurm_account_pending_gpus", account="physics") == 0


async def test_a_finished_job_counts_for_nothing() -> None:
    series = await sums(waiting("None", job_state=("COMPLETED",), nodes="n1", tres_alloc_str="cpu=1"))

    assert one(series, "slurm_partition_jobs_cpus_alloc", partition="gpu") == 0
    assert one(series, "slurm_jobs_running") == one(series, "slurm_jobs_pending") == 0


@pytest.mark.parametrize(
    "reason", ["JobHeldUser", "JobHeldAdmin", "Dependency", "BeginTime", "QOSMaxGRESPerUser", "AssocGrpGRES"]
)
async def test_no_node_is_started_for_a_job_that_could_not_use_it(reason: str) -> None:
    series = await sums(waiting(reason))

    assert one(series, "slurm_partition_jobs_pending") == 1
    assert one(series, "slurm_partition_jobs_hold") == reason.startswith("JobHeld")
    assert one(series, "slurm_partition_pending_nodes") == one(series, "slurm_partition_pending_gpus") == 0


@pytest.mark.parametrize("reason", ["Resources", "Priority", "None", "ReqNodeNotAvail", "NodeDown"])
async def test_nodes_are_started_for_a_job_that_waits_for_room(reason: str) -> None:
    assert one(await sums(waiting(reason)), "slurm_partition_pending_nodes") == 2


async def test_each_task_of_an_array_counts() -> None:
    series = await sums(waiting(array_task_string="1-100%10"))

    assert one(series, "slurm_partition_jobs_pending") == one(series, "slurm_jobs_pending") == 100
    assert one(series, "slurm_partition_pending_nodes") == 20
    assert one(series, "slurm_partition_pending_gpus") == 160


async def test_a_job_for_several_partitions_waits_in_each() -> None:
    series = await sums(waiting(partition="gpu,big"))

    assert one(series, "slurm_partition_pending_nodes", partition="gpu") == 2
    assert one(series, "slurm_partition_pending_nodes", partition="big") == 2
    assert one(series, "slurm_jobs_pending") == 1


async def test_an_empty_partition_is_zero_and_not_absent() -> None:
    series = await sums(waiting(), partitions=("gpu", "idle"))

    assert one(series, "slurm_partition_jobs_pending", partition="idle") == 0
    assert one(series, "slurm_partition_jobs_pending", partition="gpu") == 1


async def test_no_jobs_at_all_is_zero() -> None:
    series = await sums(partitions=("idle",))

    assert one(series, "slurm_jobs_running") == one(series, "slurm_partition_jobs_running") == 0
    assert of(series, "slurm_account_jobs_running") == []


async def test_recorded_jobs() -> None:
    series = await sums(*jobs())

    assert one(series, "slurm_jobs_running") == 1
    assert one(series, "slurm_jobs_pending") == 4  # three tasks of the array, and one more
    assert one(series, "slurm_partition_jobs_gpus_alloc", partition="all") == 2
    assert one(series, "slurm_partition_pending_nodes", partition="all") == 0  # all of them are held


@pytest.mark.parametrize(
    ("text", "count", "at_once"),
    [
        ("5", 1, 1),
        ("0-9", 10, 10),
        ("1,3,5-7", 5, 5),
        ("0-100:10", 11, 11),
        ("0-9%4", 10, 4),
        ("0-2%50", 3, 3),
        ("1-3,...", 3, 3),
        ("9-1", 0, 0),
        ("", 0, 0),
    ],
)
def test_tasks_of_an_array(text: str, count: int, at_once: int) -> None:
    assert demand.tasks(text) == (count, at_once)
