"""How long outages lasted: over failures of Slurm, and over restarts of ours."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slurmery.exporter.outages import BUCKETS, Histogram, History, Outages, is_draining, is_unavailable
from slurmery.slurm.model import Node

START = 1_000_000.0


def node(*state: str, since: int = 0, busy: int = 0) -> Node:
    return Node(name="n0", state=state, raw_reason_changed_at=since, raw_last_busy=busy)


async def history(*answers: tuple[float, Node]) -> History:
    """What is remembered after answers at these times."""
    outages = Outages(lambda _: "", lambda _: 0)
    for now, answer in answers:
        await outages.update((answer,), now)
    [(_, found)] = outages
    return found


def seen(durations: Histogram | None) -> tuple[int, float]:
    return (sum(durations.counts), durations.sum) if durations else (0, 0.0)


@pytest.mark.parametrize(
    ("state", "unavailable", "draining"),
    [
        (("DOWN",), True, False),
        (("IDLE", "DRAIN"), True, False),
        (("IDLE",), False, False),
        (("ALLOCATED",), False, False),
        (("ALLOCATED", "DRAIN"), False, True),
        (("MIXED", "DRAIN"), False, True),
        (("DOWN", "DRAIN"), True, False),
    ],
)
def test_what_counts_as_an_outage(state: tuple[str, ...], unavailable: bool, draining: bool) -> None:
    assert is_unavailable(node(*state)) is unavailable
    assert is_draining(node(*state)) is draining


async def test_an_outage_lasts_from_one_answer_to_another() -> None:
    found = await history(
        (START, node("IDLE")),
        (START + 10, node("DOWN")),
        (START + 20, node("DOWN")),
        (START + 40, node("IDLE")),
    )

    assert seen(found.unavailable.durations) == (1, 30.0)
    assert seen(found.draining.durations) == (0, 0.0)


async def test_draining_and_then_being_drained_are_two_times() -> None:
    found = await history(
        (START, node("MIXED")),
        (START + 10, node("MIXED", "DRAIN")),
        (START + 30, node("IDLE", "DRAIN")),
        (START + 70, node("IDLE")),
    )

    assert seen(found.draining.durations) == (1, 20.0)
    assert seen(found.unavailable.durations) == (1, 40.0)


async def test_slurm_knows_better_than_we_when_it_began() -> None:
    found = await history(
        (START, node("IDLE")), (START + 30, node("DOWN", since=int(START) + 5)), (START + 60, node("IDLE"))
    )

    assert seen(found.unavailable.durations) == (1, 55.0)


async def test_an_old_reason_does_not_make_a_new_outage_old() -> None:
    """A node told to drain yesterday that crashes today was available in between."""
    yesterday = int(START) - 86400
    found = await history(
        (START, node("MIXED", "DRAIN", since=yesterday)),
        (START + 30, node("DOWN", "DRAIN", since=yesterday)),
        (START + 60, node("IDLE")),
    )

    assert seen(found.unavailable.durations) == (1, 60.0)


async def test_an_outage_that_we_slept_through_began_when_slurm_says() -> None:
    found = await history((START, node("DOWN", since=int(START) - 3600)), (START + 60, node("IDLE")))

    assert seen(found.unavailable.durations) == (1, 3660.0)


async def test_a_drained_node_was_draining_until_its_last_job_ended() -> None:
    """After a restart of ours: drained for two hours, of which jobs took the first."""
    drained = node("IDLE", "DRAIN", since=int(START) - 7200, busy=int(START) - 3600)

    found = await history((START, drained), (START + 60, node("IDLE")))

    assert seen(found.unavailable.durations) == (1, 3660.0)


async def test_a_node_that_was_out_when_we_started_did_not_fail_now() -> None:
    assert (await history((START, node("DOWN")))).fails == {}


@pytest.mark.parametrize("future", [int(START) + 100, 0xFFFF_FFFE])
async def test_a_time_in_the_future_is_now(future: int) -> None:
    found = await history((START, node("DOWN", since=future)), (START + 60, node("IDLE")))

    assert seen(found.unavailable.durations) == (1, 60.0)


async def test_a_clock_that_is_set_back_gives_no_negative_outage() -> None:
    found = await history((START, node("DOWN")), (START - 500, node("IDLE")))

    assert seen(found.unavailable.durations) == (1, 0.0)


async def test_a_node_that_comes_back_starts_anew() -> None:
    outages = Outages(lambda _: "", lambda _: 0)
    await outages.update((node("DOWN"),), START)
    await outages.update((), START + 10)
    await outages.update((node("IDLE"),), START + 20)
    [(_, found)] = outages

    assert seen(found.unavailable.durations) == (0, 0.0)
    assert found.fails == {}


@given(st.lists(st.floats(0, 1e8), max_size=30))
def test_every_duration_is_counted_in_its_bucket(durations: list[float]) -> None:
    histogram = Histogram()
    for seconds in durations:
        histogram.observe(seconds)

    assert sum(histogram.counts) == len(durations)
    for index, edge in enumerate(BUCKETS):
        assert sum(histogram.counts[: index + 1]) == sum(seconds <= edge for seconds in durations)
