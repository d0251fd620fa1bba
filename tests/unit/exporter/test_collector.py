"""A collector keeps its pace whatever happens, and what it had. In fake time."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import pytest
from structlog.testing import capture_logs

from slurmery.exporter.collector import Collector, Pace
from slurmery.exporter.page import Block
from slurmery.exporter.vitals import Vitals
from slurmery.slurm.errors import UnreachableError
from tests.unit.exporter.parsed import one, parsed, text

pytestmark = pytest.mark.looptime


class Source:
    """Answers its number of calls; the n-th call takes `delays[n]` seconds, or fails."""

    def __init__(self, *delays: float | Exception) -> None:
        self.delays = [*delays]
        self.calls = 0

    async def fetch(self) -> int:
        self.calls += 1
        number = self.calls
        delay = self.delays.pop(0) if self.delays else 0.0
        if isinstance(delay, Exception):
            raise delay
        await asyncio.sleep(delay)
        return number

    async def render(self, answer: int) -> Sequence[Block]:
        return [Block(f"answer {answer}\n".encode(), 1)]


@asynccontextmanager
async def collecting(
    source: Source, pace: Pace | None = None
) -> AsyncIterator[tuple[Collector[int], Vitals]]:
    vitals = Vitals()
    collector = Collector("nodes", source, pace or Pace(interval=10, deadline=100), vitals)
    task = asyncio.create_task(collector.run())
    yield collector, vitals
    task.cancel()


def figures(vitals: Vitals) -> dict[str, float]:
    series = parsed(vitals.render().decode())
    return {name: value for (name, _), value in series.items()}


async def test_it_asks_at_once_and_then_at_its_pace() -> None:
    async with collecting(source := Source()) as (collector, _):
        await asyncio.sleep(1)
        assert text(collector.blocks) == "answer 1\n"
        await asyncio.sleep(29.5)
        assert source.calls == 4


async def test_there_is_no_text_before_the_first_answer() -> None:
    async with collecting(Source(UnreachableError("nobody"))) as (collector, _):
        await asyncio.sleep(1)

        assert (text(collector.blocks), collector.age()) == ("", None)


async def test_after_a_failure_the_last_good_text_stays_and_grows_old() -> None:
    async with collecting(Source(0, UnreachableError("nobody"), UnreachableError("nobody"), 0)) as (
        collector,
        _,
    ):
        await asyncio.sleep(25)
        assert text(collector.blocks) == "answer 1\n"
        assert collector.age() == pytest.approx(25, abs=0.1)
        await asyncio.sleep(6)
        assert text(collector.blocks) == "answer 4\n"
        assert collector.age() == pytest.approx(1, abs=0.1)


async def test_a_bug_in_one_answer_does_not_end_the_collecting() -> None:
    async with collecting(Source(ZeroDivisionError(), 0)) as (collector, vitals):
        with capture_logs() as lines:
            await asyncio.sleep(11)

        assert text(collector.blocks) == "answer 2\n"
        assert figures(vitals)["slurm_exporter_collector_errors_total"] == 1
        assert [line["log_level"] for line in lines] == ["error"]


async def test_no_answer_within_the_deadline_is_a_failure() -> None:
    async with collecting(Source(1e9, 0), Pace(interval=10, deadline=5)) as (collector, vitals):
        await asyncio.sleep(6)
        assert figures(vitals)["slurm_exporter_collection_failures_total"] == 1
        await asyncio.sleep(5)
        assert text(collector.blocks) == "answer 2\n"


async def test_what_is_still_under_way_is_not_begun_again() -> None:
    async with collecting(source := Source(25)) as (collector, vitals):
        await asyncio.sleep(21)
        assert (source.calls, text(collector.blocks)) == (1, "")
        assert figures(vitals)["slurm_exporter_collector_skipped_total"] == 2
        assert figures(vitals)["slurm_exporter_collector_inflight"] == 1
        await asyncio.sleep(10)
        assert (source.calls, text(collector.blocks)) == (2, "answer 2\n")
        assert figures(vitals)["slurm_exporter_collector_inflight"] == 0


async def test_an_answer_that_was_overtaken_is_thrown_away() -> None:
    pace = Pace(interval=10, deadline=100, at_once=2)
    async with collecting(source := Source(25, 1), pace) as (collector, vitals):
        await asyncio.sleep(26)
        assert (source.calls, text(collector.blocks)) == (3, "answer 3\n")
        assert figures(vitals)["slurm_exporter_collector_skipped_total"] == 0


async def test_the_same_complaint_is_made_once() -> None:
    failures = [UnreachableError("nobody answers")] * 3
    with capture_logs() as lines:
        async with collecting(Source(*failures, 0)):
            await asyncio.sleep(31)

    assert [line["event"] for line in lines] == ["Slurm gives no answer", "Slurm answers again"]


async def test_attempts_failures_and_time_are_counted() -> None:
    async with collecting(Source(3, UnreachableError("nobody"))) as (_, vitals):
        await asyncio.sleep(4)
        assert figures(vitals)["slurm_exporter_collection_duration_seconds"] == pytest.approx(3, abs=0.1)
        await asyncio.sleep(7)

    found = figures(vitals)
    assert found["slurm_exporter_collection_attempts_total"] == 2
    assert (
        found["slurm_exporter_collection_failures_total"] == found["scollector_collection_errors_total"] == 1
    )
    assert found["slurm_exporter_collector_errors_total"] == 1


def test_scrapes_are_counted() -> None:
    vitals = Vitals()
    vitals.scraped(5)
    vitals.scraped(7)

    series = parsed(vitals.render().decode())
    assert one(series, "slurm_exporter_metrics_requests_total") == 2
    assert one(series, "soperator_metrics_requests_total") == 2
    assert one(series, "slurm_exporter_metrics_exported") == 7
