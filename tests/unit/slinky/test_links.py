"""Which partitions jobs may name: not knowing, and knowing too early, is not knowing."""

from collections.abc import Mapping

import msgspec
import pytest

from slurmery.doors.views import Custom
from slurmery.slinky import names
from slurmery.slinky.links import job_partitions, reserves
from slurmery.slurm.model import Job
from slurmery.slurm.records import Partition
from slurmery.slurm.snapshot import Snapshot, View

pytestmark = pytest.mark.looptime


def snapshot(
    states: Mapping[str, str], jobs: Mapping[int, str], *, partitions_at: float = 0.0, jobs_at: float = 0.0
) -> Snapshot:
    partitions = [{"name": name, "partition": {"state": [state]}} for name, state in states.items()]
    records = [{"job_id": number, "partition": partition} for number, partition in jobs.items()]
    return Snapshot(
        partitions=View(
            {one.name: one for one in msgspec.convert(partitions, list[Partition])}, partitions_at
        ),
        jobs=View({one.job_id: one for one in msgspec.convert(records, list[Job])}, jobs_at),
    )


async def test_a_closed_partition_is_named_by_its_jobs_alone() -> None:
    closed = {"gpu": "DRAIN", "cpu": "INACTIVE"}
    assert job_partitions(snapshot(closed, {})) == frozenset()
    assert job_partitions(snapshot(closed, {1: "gpu"})) == frozenset({"gpu"})
    assert job_partitions(snapshot(closed, {1: "gpu,cpu"})) == frozenset({"gpu", "cpu"})


@pytest.mark.parametrize("state", ["UP", "DOWN"])
async def test_a_partition_that_takes_jobs_counts_as_named(state: str) -> None:
    assert job_partitions(snapshot({"gpu": state}, {})) == frozenset({"gpu"})


async def test_without_an_answer_nothing_is_known() -> None:
    assert job_partitions(Snapshot()) is None
    assert job_partitions(snapshot({}, {}, partitions_at=-100, jobs_at=0)) is None
    assert job_partitions(snapshot({}, {}, partitions_at=-100, jobs_at=-100)) is None


async def test_jobs_that_were_listed_before_the_partition_was_seen_closed_do_not_count() -> None:
    assert job_partitions(snapshot({"gpu": "DRAIN"}, {}, partitions_at=0, jobs_at=-1)) is None


@pytest.mark.parametrize(
    ("finalizers", "strategy", "asked"),
    [
        ([], {}, False),
        ([], {"updateStrategy": {"type": "ScheduledUpdate"}}, True),
        ([names.RESERVATION_FINALIZER], {"updateStrategy": {"type": "OnDelete"}}, True),
    ],
)
async def test_reservations_are_asked_for_only_where_a_nodeset_has_or_had_one(
    finalizers: list[str], strategy: dict[str, object], asked: bool
) -> None:
    view = msgspec.convert({"metadata": {"name": "gpu", "finalizers": finalizers}, "spec": strategy}, Custom)

    assert reserves(view) is asked
