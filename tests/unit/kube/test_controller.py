import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import cast

import pytest

from slurmery.kube.controller import Controller, Result, TerminalError, controller_of, itself, not_only_status
from slurmery.kube.errors import NoAnswerError
from slurmery.kube.informer import Informer
from slurmery.kube.meta import Key, ObjectMeta, OwnerReference, Resource, View

NODESETS = Resource("slinky.slurm.net", "v1beta1", "nodesets", "NodeSet")
GPU, CPU = Key("slurm", "gpu"), Key("slurm", "cpu")

Work = Callable[[Key], Awaitable[Result]]


class Diary:
    """What a controller did, and when."""

    def __init__(self, work: Work | None = None, *, workers: int = 1, time_limit: float = 60.0) -> None:
        self.work = work
        self.began: list[tuple[float, Key]] = []
        self.ended: list[Key] = []
        self.refused: list[tuple[Key, str, str]] = []
        self.controller = Controller(
            "test", self.reconcile, self.report, workers=workers, time_limit=time_limit
        )

    async def reconcile(self, key: Key) -> Result:
        self.began.append((asyncio.get_running_loop().time(), key))
        result = await self.work(key) if self.work else Result()
        self.ended.append(key)
        return result

    async def report(self, key: Key, error: TerminalError) -> None:
        self.refused.append((key, error.reason, error.message))

    def times(self, key: Key) -> list[float]:
        return [when for when, began in self.began if began == key]

    @asynccontextmanager
    async def running(self) -> AsyncIterator["Diary"]:
        task = asyncio.create_task(self.controller.run())
        yield self
        self.controller.stop()
        await task


async def settle(seconds: float = 0.001) -> None:
    await asyncio.sleep(seconds)


@pytest.mark.looptime
async def test_a_key_is_reconciled_once_per_change() -> None:
    async with Diary().running() as diary:
        diary.controller.queue.add(GPU)
        diary.controller.queue.add(GPU)
        await settle(1000)
        assert diary.ended == [GPU]


@pytest.mark.looptime
async def test_a_result_may_ask_to_be_looked_at_again() -> None:
    async def work(key: Key) -> Result:
        return Result(requeue_after=60)

    async with Diary(work).running() as diary:
        diary.controller.queue.add(GPU)
        await settle(200)
        assert diary.times(GPU) == pytest.approx([0, 60, 120, 180])


@pytest.mark.looptime
@pytest.mark.parametrize("error", [NoAnswerError("down"), KeyError("bug"), asyncio.CancelledError()])
async def test_an_error_is_retried_ever_more_slowly_and_hurts_no_other_key(error: BaseException) -> None:
    async def work(key: Key) -> Result:
        if key == GPU:
            raise error
        return Result(requeue_after=1)

    async with Diary(work).running() as diary:
        diary.controller.queue.add(GPU)
        diary.controller.queue.add(CPU)
        await settle(100.5)
        assert diary.ended.count(CPU) == 101
        waits = [b - a for a, b in zip(diary.times(GPU), diary.times(GPU)[1:], strict=False)]
        assert 8 <= len(waits) <= 12
        assert waits[-1] > 10 * waits[0]


@pytest.mark.looptime
async def test_success_makes_the_next_failure_start_with_the_shortest_wait() -> None:
    outcomes = iter([True, True, True, True, True, False, True, False])

    async def work(key: Key) -> Result:
        if next(outcomes):
            raise NoAnswerError("down")
        return Result(requeue_after=1000)

    async with Diary(work).running() as diary:
        diary.controller.queue.add(GPU)
        await settle(1999)
        times = diary.times(GPU)
        assert times[7] - times[6] <= 0.1


@pytest.mark.looptime
async def test_what_only_a_person_can_mend_is_reported_and_rests_until_something_changes() -> None:
    async def work(key: Key) -> Result:
        raise TerminalError("BadPartition", "Partition gpu names a node set that does not exist")

    async with Diary(work).running() as diary:
        diary.controller.queue.add(GPU)
        await settle(10_000)
        refusal = (GPU, "BadPartition", "Partition gpu names a node set that does not exist")
        assert diary.refused == [refusal]
        diary.controller.queue.add(GPU)
        await settle()
        assert diary.refused == [refusal, refusal]


@pytest.mark.looptime
async def test_a_report_that_fails_is_tried_again() -> None:
    async def work(key: Key) -> Result:
        raise TerminalError("Bad", "Bad")

    diary = Diary(work)
    reports = 0

    async def report(key: Key, error: TerminalError) -> None:
        nonlocal reports
        reports += 1
        if reports < 3:
            raise NoAnswerError("down")

    diary.controller._report = report
    async with diary.running():
        diary.controller.queue.add(GPU)
        await settle(1000)
        assert reports == 3


@pytest.mark.looptime
async def test_a_reconcile_past_its_time_limit_is_cut_off_and_retried() -> None:
    stuck = Counter[Key]()

    async def work(key: Key) -> Result:
        stuck[key] += 1
        if stuck[key] == 1:
            await asyncio.sleep(10_000)
        return Result()

    async with Diary(work, time_limit=60).running() as diary:
        diary.controller.queue.add(GPU)
        await settle(61)
        assert diary.ended == [GPU]
        assert diary.times(GPU)[1] == pytest.approx(60, abs=0.2)


@pytest.mark.looptime
async def test_workers_work_side_by_side_but_never_on_the_same_key() -> None:
    busy = Counter[Key]()

    async def work(key: Key) -> Result:
        busy[key] += 1
        assert busy[key] == 1
        await asyncio.sleep(10)
        busy[key] -= 1
        return Result()

    async with Diary(work, workers=4).running() as diary:
        for _ in range(5):
            for key in (GPU, CPU):
                diary.controller.queue.add(key)
            await settle(4)
        await settle(100)
        assert diary.times(GPU) == pytest.approx([0, 10, 20])
        assert diary.times(CPU) == pytest.approx([0, 10, 20])


@pytest.mark.looptime
async def test_stopping_finishes_what_is_in_flight_and_starts_nothing() -> None:
    async def work(key: Key) -> Result:
        await asyncio.sleep(3)
        return Result(requeue_after=1)

    diary = Diary(work)
    async with diary.running():
        diary.controller.queue.add(GPU)
        diary.controller.queue.add(CPU)
        await settle(1)
    assert diary.ended == [GPU]
    assert asyncio.get_running_loop().time() == pytest.approx(3, abs=0.01)


def view(**metadata: object) -> View:
    return View(ObjectMeta(name="gpu-0", namespace="slurm", **metadata))  # type: ignore[arg-type]


def owned_by(api_version: str, kind: str, *, controller: bool = True) -> View:
    return view(owner_references=(OwnerReference(api_version, kind, "gpu", "uid", controller),))


def test_an_object_stands_for_itself() -> None:
    assert list(itself(view())) == [Key("slurm", "gpu-0")]


@pytest.mark.parametrize(
    ("child", "keys"),
    [
        (owned_by("slinky.slurm.net/v1beta1", "NodeSet"), [GPU]),
        (owned_by("slinky.slurm.net/v1alpha1", "NodeSet"), [GPU]),
        (owned_by("slurm.nebius.ai/v1alpha1", "NodeSet"), []),
        (owned_by("slinky.slurm.net/v1beta1", "LoginSet"), []),
        (owned_by("slinky.slurm.net/v1beta1", "NodeSet", controller=False), []),
        (view(), []),
    ],
)
def test_a_child_stands_for_its_controller_of_that_kind(child: View, keys: list[Key]) -> None:
    assert list(controller_of(NODESETS)(child)) == keys


class Changing:
    """An informer as far as a controller sees it."""

    def __init__(self) -> None:
        self.synced = asyncio.Event()
        self.synced.set()

    def subscribe(self, handler: Callable[[View | None, View | None], None]) -> None:
        self.change = handler


@pytest.mark.looptime
async def test_changes_within_a_pause_are_looked_at_together() -> None:
    async with Diary().running() as diary:
        many = Changing()
        diary.controller.watch(cast("Informer[View]", many), lambda _: [GPU], pause=lambda _: 2.0)
        for _ in range(50):
            many.change(None, view(uid="1"))
            await asyncio.sleep(0.1)
        await settle(100)
        assert diary.times(GPU) == pytest.approx([2.0, 4.0, 6.0])


def test_a_status_write_is_not_relevant_and_anything_else_is() -> None:
    old = view(uid="1", generation=1, resource_version="1")
    assert not not_only_status(old, view(uid="1", generation=1, resource_version="2"))
    assert not_only_status(old, view(uid="1", generation=2))
    assert not_only_status(old, view(uid="2", generation=1))
    assert not_only_status(old, view(uid="1", generation=1, annotations={"drain": "now"}))
