"""The poller is cheap when nothing changes, patient when Slurm is gone, and forgets nothing. In fake time."""

import asyncio
import itertools
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from slurmery.slurm.client import Listing
from slurmery.slurm.errors import DeadlineError, UnreachableError
from slurmery.slurm.model import Job, Node
from slurmery.slurm.poller import Poller
from slurmery.slurm.records import Partition, Ping, Reservation
from slurmery.slurm.snapshot import Changes, Part

pytestmark = pytest.mark.looptime


class Slurm:
    """A Slurm that counts its changes as time, like the real one, and takes `delay` seconds to answer."""

    def __init__(self) -> None:
        self.members: dict[str, Node] = {}
        self.work: dict[int, Job] = {}
        self.controllers: tuple[Ping, ...] = ()
        self.time = 1
        self.delay = 0.0
        self.error: Exception | None = None
        self.asked: list[tuple[float, int]] = []

    def put(self, name: str, *state: str) -> None:
        self.time += 1
        self.members[name] = Node(name=name, state=state)

    def remove(self, name: str) -> None:
        self.time += 1
        del self.members[name]

    async def nodes(self, since: int = 0) -> Listing[Node] | None:
        self.asked.append((asyncio.get_running_loop().time(), since))
        await asyncio.sleep(self.delay)
        if self.error is not None:
            raise self.error
        return None if since == self.time else Listing(tuple(self.members.values()), self.time)

    async def jobs(self, since: int = 0) -> Listing[Job] | None:
        return Listing(tuple(self.work.values()), 0)

    async def partitions(self, since: int = 0) -> Listing[Partition] | None:
        raise DeadlineError("partitions take for ever")

    async def pings(self, since: int = 0) -> Listing[Ping] | None:
        return Listing(self.controllers, 0)

    async def reservations(self, since: int = 0) -> Listing[Reservation] | None:
        await asyncio.Event().wait()
        raise AssertionError


@asynccontextmanager
async def polling(slurm: Slurm, **intervals: float) -> AsyncIterator[tuple[Poller, list[Changes]]]:
    heard: list[Changes] = []
    chosen = {Part(name): seconds for name, seconds in (intervals or {"nodes": 10.0}).items()}
    poller = Poller(slurm, chosen, heard.append)
    task = asyncio.create_task(poller.run())
    await asyncio.sleep(0.001)
    try:
        yield poller, heard
    finally:
        task.cancel()
        await asyncio.wait([task])


def now() -> float:
    return asyncio.get_running_loop().time()


async def test_the_first_answer_comes_at_once_and_everything_in_it_is_new() -> None:
    slurm = Slurm()
    slurm.put("n0", "IDLE")
    async with polling(slurm) as (poller, heard):
        assert poller.snapshot.nodes["n0"].is_idle
        assert poller.snapshot.nodes.fresh(now(), 1.0)
        assert heard == [Changes(Part.NODES, added=frozenset({"n0"}))]


async def test_changes_are_told_by_name() -> None:
    slurm = Slurm()
    slurm.put("n0", "IDLE")
    slurm.put("n1", "IDLE")
    async with polling(slurm) as (poller, heard):
        before = poller.snapshot
        slurm.put("n0", "MIXED")
        slurm.remove("n1")
        slurm.put("n2", "IDLE")
        await asyncio.sleep(11.5)
        assert heard[1:] == [Changes(Part.NODES, frozenset({"n2"}), frozenset({"n0"}), frozenset({"n1"}))]
        assert set(poller.snapshot.nodes) == {"n0", "n2"}
        assert set(before.nodes) == {"n0", "n1"}, "a snapshot never changes"


async def test_a_slurmctld_that_falls_silent_is_told_and_one_that_answers_slower_is_not() -> None:
    slurm = Slurm()
    slurm.controllers = (Ping("c0", responding=True, latency=3), Ping("c1", responding=True))
    async with polling(slurm, pings=5.0) as (poller, heard):
        slurm.controllers = (Ping("c0", responding=True, latency=9), Ping("c1", responding=True))
        await asyncio.sleep(6)
        slurm.controllers = (Ping("c0"), Ping("c1", responding=True))
        await asyncio.sleep(6)
        assert heard[1:] == [Changes(Part.PINGS, changed=frozenset({"c0"}))]
        assert list(poller.snapshot.pings) == ["c0", "c1"]


async def test_nothing_is_told_while_nothing_changes_and_the_answer_stays_fresh() -> None:
    slurm = Slurm()
    slurm.put("n0", "IDLE")
    async with polling(slurm) as (poller, heard):
        await asyncio.sleep(50)
        assert len(heard) == 1
        assert [since for _, since in slurm.asked] == [0] + [slurm.time] * (len(slurm.asked) - 1)
        assert 4 <= len(slurm.asked) <= 6
        assert poller.snapshot.nodes.fresh(now(), 11.0)


async def test_everything_is_asked_for_again_now_and_then() -> None:
    slurm = Slurm()
    async with polling(slurm) as _:
        await asyncio.sleep(150)
        assert sum(since == 0 for _, since in slurm.asked) in {2, 3}


async def test_after_a_failure_the_last_answer_stays_and_grows_old() -> None:
    slurm = Slurm()
    slurm.put("n0", "IDLE", "DRAIN")
    async with polling(slurm) as (poller, heard):
        assert poller.snapshot.is_drained("n0", now(), 30.0)
        slurm.error = UnreachableError("slurmctld is gone", 1800)
        await asyncio.sleep(20)
        view = poller.snapshot.nodes
        assert set(view) == {"n0"}
        assert view.error == "slurmctld is gone (Slurm error 1800)"
        assert view.age(now()) == pytest.approx(20, abs=0.1)
        assert not poller.snapshot.is_drained("n0", now(), 30.0)
        assert heard[1:] == [Changes(Part.NODES, error=view.error)], "told once, not at every attempt"

        slurm.error = None
        await asyncio.sleep(60)
        assert poller.snapshot.is_drained("n0", now(), 70.0)
        assert heard[2:] == [Changes(Part.NODES)], "recovery is news even if no node changed"
        assert next(since for when, since in slurm.asked if when > 20) == 0, "and nothing old is trusted"


async def test_failures_make_the_pauses_longer_but_a_slurm_that_is_back_is_noticed_within_ten_seconds() -> (
    None
):
    slurm = Slurm()
    slurm.error = UnreachableError("gone")
    async with polling(slurm, nodes=2.0) as (poller, _):
        await asyncio.sleep(900)
        times = [when for when, _ in slurm.asked]
        pauses = [later - earlier for earlier, later in itertools.pairwise(times)]
        assert pauses[0] <= 2
        assert all(5 <= pause <= 10 for pause in pauses[4:])
        slurm.error = None
        await asyncio.sleep(10)
        assert poller.snapshot.nodes.fresh(now(), 10)


async def test_polls_are_not_in_step() -> None:
    slurm = Slurm()
    async with polling(slurm):
        await asyncio.sleep(100)
        times = [when for when, _ in slurm.asked]
        pauses = {round(later - earlier, 6) for earlier, later in itertools.pairwise(times)}
        assert len(pauses) > 3
        assert all(10 <= pause <= 11 for pause in pauses)


async def test_a_poke_brings_the_next_answer_forward_but_cannot_hammer() -> None:
    slurm = Slurm()
    async with polling(slurm) as (poller, _):
        for _ in range(100):
            poller.poke(Part.NODES)
            await asyncio.sleep(0.01)
        assert len(slurm.asked) in {2, 3}


async def test_a_poke_during_an_answer_is_not_lost() -> None:
    slurm = Slurm()
    slurm.delay = 3.0
    async with polling(slurm) as (poller, _):
        await asyncio.sleep(1)
        slurm.put("late", "IDLE")
        poller.poke(Part.NODES)
        await asyncio.sleep(6)
        assert len(slurm.asked) == 2


async def test_the_age_counts_from_the_question_not_from_the_answer() -> None:
    slurm = Slurm()
    slurm.delay = 4.0
    async with polling(slurm) as (poller, _):
        await asyncio.sleep(4.1)
        assert poller.snapshot.nodes.age(now()) == pytest.approx(4.1, abs=0.1)


async def test_a_list_that_fails_or_hangs_holds_up_no_other() -> None:
    slurm = Slurm()
    slurm.put("n0", "IDLE")
    async with polling(slurm, nodes=10.0, jobs=10.0, partitions=10.0, reservations=10.0) as (poller, _):
        slurm.work[7] = Job(job_id=7, job_state=("RUNNING",), nodes="n0")
        await asyncio.sleep(30)
        snapshot = poller.snapshot
        assert snapshot.nodes.fresh(now(), 12.0)
        assert snapshot.jobs_on("n0") == (slurm.work[7],)
        assert snapshot.partitions.error == "partitions take for ever"
        assert not snapshot.reservations.fresh(now(), 1000.0)


async def test_stopping_stops_asking() -> None:
    slurm = Slurm()
    async with polling(slurm):
        pass
    count = len(slurm.asked)
    await asyncio.sleep(100)
    assert len(slurm.asked) == count
