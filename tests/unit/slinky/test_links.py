"""Which partitions jobs may name: not knowing, and knowing too early, is not knowing."""

from collections.abc import Mapping
from types import SimpleNamespace
from typing import cast

import msgspec
import pytest

from slurmery.api.slinky import RestApi
from slurmery.doors.views import Custom
from slurmery.slinky import names
from slurmery.slinky.kinds import CONTROLLERS
from slurmery.slinky.links import Links, answering, job_partitions, reserves
from slurmery.slinky.world import World
from slurmery.slurm.model import Job
from slurmery.slurm.records import Partition, Ping
from slurmery.slurm.snapshot import Part, Snapshot, View
from tests.unit.slinky.clusters import controller
from tests.unit.slinky.sets import restapi

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


async def test_the_slurmctld_that_answer_are_told_in_the_order_of_slurm_conf() -> None:
    found = {"c0": Ping("c0"), "c1": Ping("c1", responding=True), "c2": Ping("c2", pinged="UP")}
    assert answering(Snapshot(pings=View(found, 0.0))) == ("c1", "c2")
    assert answering(Snapshot(pings=View(found, -100.0))) == ()
    assert answering(Snapshot(pings=View(found, 0.0, "no answer"))) == ()
    assert answering(Snapshot()) == ()


class Surroundings:
    """RestApis of a cluster, without a Kubernetes to ask for them."""

    def __init__(self, *restapis: RestApi) -> None:
        self.restapis = restapis
        self.caches = SimpleNamespace(
            custom={CONTROLLERS: SimpleNamespace(subscribe=lambda _: None)}, users=lambda *_: ()
        )

    def users(self, *_: object) -> tuple[RestApi, ...]:
        return self.restapis


def rest(name: str, made: str, *, going: bool = False) -> RestApi:
    metadata = {"name": name, "creationTimestamp": made, **({"deletionTimestamp": made} if going else {})}
    return restapi(metadata)


async def test_the_oldest_restapi_that_stays_is_asked_and_none_when_there_is_none() -> None:
    old, new = "2026-01-01T00:00:00Z", "2026-02-01T00:00:00Z"
    asked: list[str] = []
    world = Surroundings(rest("b", new), rest("a", old), rest("gone", "2025-01-01T00:00:00Z", going=True))

    def reach(found: RestApi) -> str:
        asked.append(found.metadata.name)
        return "http://127.0.0.1:1"

    links = Links(cast("World", world), reach)
    assert Part.PINGS not in links.follow(controller()).asked
    assert Part.PINGS in links.follow(controller(ha={"enabled": True})).asked
    assert asked == ["a", "a"]
    world.restapis = ()
    assert links.follow(controller()).asked == frozenset()
    assert links.clusters.client("slurm/slurm") is None
    await links.clusters.close()


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
