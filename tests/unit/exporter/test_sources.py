"""What is asked of Slurm, and what of it is told, over several answers. In fake time."""

import asyncio
from collections.abc import Sequence

import pytest

from slurmery.exporter.page import Block
from slurmery.exporter.scope import Scope
from slurmery.exporter.sources import DiagSource, JobSource, NodeSource, PartitionSource, accounted
from slurmery.slurm import answers
from slurmery.slurm.errors import UnreachableError
from slurmery.slurm.model import Job, Node, Number
from slurmery.slurm.records import AccountedJob, Partition
from tests.unit.exporter.parsed import names, of, one, parsed
from tests.unit.exporter.slurm import Slurm
from tests.unit.slurm.recordings import RELEASES, recording

pytestmark = pytest.mark.looptime

EPOCH = 1_800_000_000


def clock() -> float:
    """Unix time that goes with the fake one."""
    return EPOCH + asyncio.get_running_loop().time()


async def told(source: NodeSource | JobSource | PartitionSource) -> Sequence[Block]:
    """What the source tells after asking once."""
    return await source.render(await source.fetch())  # type: ignore[arg-type]


def node_source(slurm: Slurm, groups: dict[str, str] | None = None) -> NodeSource:
    return NodeSource(slurm, Scope(), {} if groups is None else groups, clock)


def job_source(slurm: Slurm, scope: Scope | None = None, partitions: Sequence[str] = ()) -> JobSource:
    return JobSource(slurm.jobs, scope or Scope(), {}, partitions, clock)


async def test_only_changes_are_asked_for_and_what_did_not_change_is_not_made_again() -> None:
    slurm = Slurm()
    slurm.members = (Node(name="n0", state=("IDLE",), tres="gres/gpu=8"),)
    source = node_source(slurm)

    first = await told(source)
    await asyncio.sleep(30)
    second = await told(source)

    assert slurm.asked == [("nodes", 0), ("nodes", 1)]
    different = [(old, new) for old, new in zip(first, second, strict=True) if old is not new]
    assert [names(parsed([new])) for _, new in different] == [{"slurm_node_gpu_seconds_total"}]
    assert one(parsed(second), "slurm_node_gpu_seconds_total") == 240


async def test_now_and_then_everything_is_asked_for() -> None:
    source = node_source(slurm := Slurm())
    for _ in range(12):
        await told(source)
        await asyncio.sleep(30)

    assert [number for number, (_, since) in enumerate(slurm.asked) if not since] == [0, 10]


async def test_gpu_seconds_go_on_over_a_failure_of_slurm() -> None:
    slurm = Slurm()
    slurm.members = (Node(name="n0", state=("IDLE",), tres="gres/gpu=1"),)
    source = node_source(slurm)
    await told(source)
    slurm.error["nodes"] = UnreachableError("gone")
    for _ in range(3):
        await asyncio.sleep(30)
        with pytest.raises(UnreachableError):
            await source.fetch()
    slurm.error.clear()
    await asyncio.sleep(30)

    assert one(parsed(await told(source)), "slurm_node_gpu_seconds_total") == 120


async def test_an_outage_goes_on_over_a_failure_of_slurm() -> None:
    slurm = Slurm()
    source = node_source(slurm)
    for state in (("IDLE",), ("DOWN",)):
        slurm.change(members=(Node(name="n0", state=state),))
        await told(source)
        await asyncio.sleep(30)
    slurm.error["nodes"] = UnreachableError("gone")
    with pytest.raises(UnreachableError):
        await source.fetch()
    await asyncio.sleep(30)
    slurm.error.clear()
    slurm.change(members=(Node(name="n0", state=("IDLE",)),))

    series = parsed(await told(source))
    assert one(series, "slurm_node_unavailability_duration_seconds_sum") == 60
    assert one(series, "slurm_node_fails_total") == 1


async def test_a_failure_during_an_outage_of_slurm_is_not_missed() -> None:
    slurm = Slurm()
    slurm.members = (Node(name="n0", state=("IDLE",)),)
    source = node_source(slurm)
    await told(source)
    slurm.error["nodes"] = UnreachableError("gone")
    with pytest.raises(UnreachableError):
        await source.fetch()
    slurm.error.clear()
    slurm.change(members=(Node(name="n0", state=("DOWN",), reason="fire"),))

    assert one(parsed(await told(source)), "slurm_node_fails_total", reason="fire") == 1


async def test_an_outage_goes_on_over_a_restart_of_ours() -> None:
    slurm = Slurm()
    slurm.members = (Node(name="n0", state=("DOWN",), raw_reason_changed_at=Number(number=EPOCH + 10)),)
    await asyncio.sleep(100)
    await told(node_source(slurm))

    restarted = node_source(slurm)
    await asyncio.sleep(100)
    await told(restarted)
    await asyncio.sleep(100)
    slurm.change(members=(Node(name="n0", state=("IDLE",)),))

    assert one(
        parsed(await told(restarted)), "slurm_node_unavailability_duration_seconds_sum"
    ) == pytest.approx(290)


async def test_groups_are_known_to_those_who_show_jobs() -> None:
    slurm, groups = Slurm(), {"gone": "b0"}
    slurm.members = (Node(name="worker-1", topology="default:b7"),)
    slurm.work = (Job(job_id=1, job_state=("RUNNING",), nodes="worker-1"),)

    await told(node_source(slurm, groups))
    series = parsed(await told(JobSource(slurm.jobs, Scope(), groups, (), clock)))

    assert groups == {"worker-1": "b7"}
    assert one(series, "slurm_node_job", nvlink_instance_group="b7") == 1


async def test_durations_grow_although_nothing_changed() -> None:
    slurm = Slurm()
    slurm.work = (Job(job_id=1, job_state=("RUNNING",), raw_start_time=EPOCH),)
    source = job_source(slurm)
    await asyncio.sleep(5)
    first = await told(source)
    await asyncio.sleep(30)
    second = await told(source)

    assert one(parsed(first), "slurm_job_duration_seconds") == pytest.approx(5, abs=0.01)
    assert one(parsed(second), "slurm_job_duration_seconds") == pytest.approx(35, abs=0.01)
    assert slurm.asked == [("jobs", 0), ("jobs", 1)]


async def test_jobs_can_be_off_but_sums_stay() -> None:
    slurm = Slurm()
    slurm.work = (Job(job_id=1, job_state=("RUNNING",), partition="gpu", nodes="n1", raw_start_time=EPOCH),)
    series = parsed(await told(job_source(slurm, Scope(jobs=False))))

    assert not any(name.startswith(("slurm_job_", "slurm_node_job")) for name in names(series))
    assert one(series, "slurm_partition_jobs_running", partition="gpu") == 1


async def test_partitions_without_jobs_are_known_by_those_who_count_jobs() -> None:
    slurm, known = Slurm(), ["gone"]
    slurm.shares = (Partition(name="empty"),)
    jobs = job_source(slurm, partitions=known)

    await told(PartitionSource(slurm, known))
    series = parsed(await told(jobs))

    assert [labels for labels, _ in of(series, "slurm_partition_jobs_pending")] == [{"partition": "empty"}]


async def test_statistics_are_told() -> None:
    source = DiagSource(Slurm())

    series = parsed(await source.render(await source.fetch()))
    assert one(series, "slurm_controller_server_thread_count") == 3


@pytest.mark.parametrize(("release", "version"), RELEASES)
async def test_accounting_can_be_asked_for_jobs_instead(release: str, version: str) -> None:
    slurm = Slurm()
    answer = answers.read(200, recording(release, version, "slurmdb_jobs"), answers.AccountedJobsAnswer)
    assert isinstance(answer.items, tuple)
    slurm.remembered = answer.items
    source = JobSource(accounted(slurm, 3600, lambda: EPOCH), Scope(), {}, (), clock)
    series = parsed(await told(source))

    shown = {labels["job_id"]: labels for labels, _ in of(series, "slurm_job_info")}
    assert shown.keys() == {str(job.job_id) for job in answer.items}
    for job in answer.items:
        labels = shown[str(job.job_id)]
        assert (labels["job_state"], labels["job_name"], labels["user_name"]) == (
            job.state,
            job.name,
            job.user,
        )
        if "cpu" in job.allocated:
            assert one(series, "slurm_job_cpus", job_id=labels["job_id"]) == job.allocated["cpu"]
            assert (
                one(series, "slurm_job_memory_bytes", job_id=labels["job_id"]) == job.allocated["mem"] * 2**20
            )
    assert of(series, "slurm_job_cpus")
    assert slurm.queries == [
        {
            "start_time": f"uts{EPOCH - 3600}",
            "end_time": f"uts{EPOCH + 60}",
            "skip_steps": "true",
            "disable_truncate_usage_time": "true",
        }
    ]


async def test_an_accounted_job_that_was_started_again_is_shown_as_it_is_now() -> None:
    slurm = Slurm()
    slurm.remembered = (AccountedJob(job_id=1, name="first"), AccountedJob(job_id=1, name="second"))
    source = JobSource(accounted(slurm, 3600), Scope(), {}, (), clock)

    assert [labels["job_name"] for labels, _ in of(parsed(await told(source)), "slurm_job_info")] == [
        "second"
    ]


async def test_an_accounted_job_without_nodes_has_none() -> None:
    slurm = Slurm()
    slurm.remembered = (AccountedJob(job_id=1, nodes="None assigned"),)
    source = JobSource(accounted(slurm, 3600), Scope(), {}, (), clock)

    assert of(parsed(await told(source)), "slurm_node_job") == []
