import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import TypeVar

import looptime
import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from slurmery.kube.workqueue import Closed, Priority, WorkQueue

T = TypeVar("T")


@pytest.fixture
def queue() -> WorkQueue[str]:
    return WorkQueue("test")


async def test_many_adds_before_a_worker_comes_are_one_piece_of_work(queue: WorkQueue[str]) -> None:
    for _ in range(100):
        queue.add("a")
    assert await queue.get() == "a"
    queue.done("a")
    assert len(queue) == 0


async def test_a_key_added_while_in_flight_is_handed_out_once_more_and_only_afterwards(
    queue: WorkQueue[str],
) -> None:
    queue.add("a")
    await queue.get()
    queue.add("a")
    queue.add("a")
    assert len(queue) == 0
    queue.done("a")
    assert await queue.get() == "a"
    queue.done("a")
    assert len(queue) == 0


async def test_a_change_overtakes_resyncs_also_when_the_key_was_already_waiting_for_one(
    queue: WorkQueue[str],
) -> None:
    for key in ("a", "b", "c"):
        queue.add(key, Priority.RESYNC)
    queue.add("c", Priority.CHANGE)
    queue.add("d")
    assert [await queue.get() for _ in range(4)] == ["c", "d", "a", "b"]


async def test_a_resync_does_not_demote_a_waiting_change(queue: WorkQueue[str]) -> None:
    queue.add("a", Priority.RESYNC)
    queue.add("b", Priority.CHANGE)
    queue.add("b", Priority.RESYNC)
    assert await queue.get() == "b"


async def test_a_change_seen_in_flight_keeps_its_priority_when_the_key_comes_back(
    queue: WorkQueue[str],
) -> None:
    queue.add("a")
    await queue.get()
    queue.add("a", Priority.CHANGE)
    queue.add("a", Priority.RESYNC)
    queue.add("b", Priority.RESYNC)
    queue.done("a")
    assert await queue.get() == "a"


@pytest.mark.looptime
async def test_a_delayed_key_comes_at_its_time(queue: WorkQueue[str]) -> None:
    queue.add_after("a", 60)
    assert await queue.get() == "a"
    assert asyncio.get_running_loop().time() == 60


@pytest.mark.looptime
async def test_the_earliest_of_several_delays_counts(queue: WorkQueue[str]) -> None:
    queue.add_after("a", 60)
    queue.add_after("a", 10)
    queue.add_after("a", 30)
    await queue.get()
    queue.done("a")
    assert asyncio.get_running_loop().time() == 10
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(queue.get(), 1000)


@pytest.mark.looptime
async def test_work_on_a_key_supersedes_its_delay(queue: WorkQueue[str]) -> None:
    queue.add_after("a", 60)
    queue.add("a")
    await queue.get()
    queue.done("a")
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(queue.get(), 1000)


@pytest.mark.looptime
async def test_a_delay_that_ends_while_the_key_is_in_flight_is_kept_for_afterwards(
    queue: WorkQueue[str],
) -> None:
    queue.add("a")
    await queue.get()
    queue.add_after("a", 5)
    await asyncio.sleep(10)
    assert len(queue) == 0
    queue.done("a")
    assert await queue.get() == "a"


@pytest.mark.looptime
async def test_each_failure_doubles_the_back_off_up_to_a_cap_and_success_resets_it() -> None:
    queue = WorkQueue[str]("test", first_retry=1, longest_retry=60)
    waits = [queue.retry("a") for _ in range(10)]
    for wait, longest in zip(waits, (1, 2, 4, 8, 16, 32, 60, 60, 60, 60), strict=True):
        assert longest / 2 <= wait <= longest
    queue.forget("a")
    assert queue.retry("a") <= 1


@pytest.mark.looptime
async def test_one_failing_key_does_not_hold_up_another(queue: WorkQueue[str]) -> None:
    queue.retry("bad")
    queue.add("good")
    assert await queue.get() == "good"
    assert asyncio.get_running_loop().time() == 0


async def test_closing_wakes_every_worker_and_hands_out_nothing_more(queue: WorkQueue[str]) -> None:
    workers = [asyncio.create_task(queue.get()) for _ in range(3)]
    await asyncio.sleep(0)
    queue.close()
    queue.add("a")
    queue.add_after("b", 0)
    results = await asyncio.gather(*workers, return_exceptions=True)
    assert all(isinstance(result, Closed) for result in results)
    with pytest.raises(Closed):
        await queue.get()


async def test_a_worker_cancelled_as_it_is_woken_passes_the_key_on(queue: WorkQueue[str]) -> None:
    first = asyncio.create_task(queue.get())
    second = asyncio.create_task(queue.get())
    await asyncio.sleep(0)
    queue.add("a")
    first.cancel()
    assert await asyncio.wait_for(second, 1) == "a"
    assert first.cancelled()


async def test_a_worker_cancelled_in_its_sleep_leaves_nothing_behind(queue: WorkQueue[str]) -> None:
    first = asyncio.create_task(queue.get())
    await asyncio.sleep(0)
    first.cancel()
    await asyncio.sleep(0)
    queue.add("a")
    assert await queue.get() == "a"


KEYS = st.sampled_from("abcde")


class QueueMachine(RuleBasedStateMachine):
    """Random adds, delays, failures and workers; the model is what each key is owed."""

    def __init__(self) -> None:
        super().__init__()
        self.loop = looptime.new_event_loop()
        self.queue = WorkQueue[str]("machine", first_retry=1, longest_retry=8)
        self.owed: Counter[str] = Counter()
        self.timers: dict[str, float] = {}
        self.running: set[str] = set()

    def run(self, work: Awaitable[T]) -> T:
        result: T = self.loop.run_until_complete(work)
        return result

    def call(self, method: Callable[..., T], *arguments: object) -> T:
        """Timers can only be set from within the loop."""

        async def inside() -> T:
            return method(*arguments)

        return self.run(inside())

    @rule(key=KEYS, priority=st.sampled_from(Priority))
    def add(self, key: str, priority: Priority) -> None:
        self.call(self.queue.add, key, priority)
        self.owed[key] = 1

    @rule(key=KEYS, seconds=st.sampled_from((1, 5, 20)))
    def add_after(self, key: str, seconds: int) -> None:
        self.call(self.queue.add_after, key, seconds)
        when = self.loop.time() + seconds
        self.timers[key] = min(when, self.timers.get(key, when))

    @rule(seconds=st.sampled_from((1, 3, 30)))
    def time_passes(self, seconds: int) -> None:
        self.run(asyncio.sleep(seconds))
        for key, when in list(self.timers.items()):
            if when <= self.loop.time():
                del self.timers[key]
                self.owed[key] = 1

    @precondition(lambda self: any(self.owed[key] and key not in self.running for key in self.owed))
    @rule()
    def take(self) -> None:
        key = self.run(asyncio.wait_for(self.queue.get(), 0.5))
        assert key not in self.running
        assert self.owed.pop(key)
        self.timers.pop(key, None)
        self.running.add(key)

    @precondition(lambda self: self.running)
    @rule(data=st.data(), fails=st.booleans())
    def finish(self, data: st.DataObject, fails: bool) -> None:
        key = data.draw(st.sampled_from(sorted(self.running)))
        if fails:
            when = self.loop.time() + self.call(self.queue.retry, key)
            self.timers[key] = min(when, self.timers.get(key, when))
        else:
            self.queue.forget(key)
        self.call(self.queue.done, key)
        self.running.remove(key)

    @invariant()
    def the_queue_is_as_long_as_what_is_owed_and_not_in_flight(self) -> None:
        assert len(self.queue) == sum(
            1 for key, owed in self.owed.items() if owed and key not in self.running
        )
        assert self.queue._running.keys() == self.running

    def teardown(self) -> None:
        self.queue.close()
        self.loop.close()


TestQueueMachine = QueueMachine.TestCase
