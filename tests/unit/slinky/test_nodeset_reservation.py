"""The reservation of a scheduled update follows from what Slurm has of it, and from nothing else."""

from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest
from msgspec import UNSET

from slurmery.api.slinky import NodeSet
from slurmery.slinky import names
from slurmery.slinky.nodeset.reservation import Seen, Steps, decide, event, requested
from slurmery.slurm.records import Reservation
from tests.unit.slinky.sets import nodeset

NAME = "SlurmOperatorMaint-gpu"
START = int(datetime(2026, 11, 16, 3, tzinfo=UTC).timestamp())  # a Monday
BEFORE, DURING, AFTER = START - 60, START + 60, START + 40 * 60
DAY = 86400
NODES = frozenset({"gpu-0", "gpu-1"})


def scheduled(*flags: str, held: bool = True, **spec: Any) -> NodeSet:
    window = {"startTime": "2026-11-16T03:00:00Z", "duration": "30m30s", "flags": list(flags)}
    strategy = {"type": "ScheduledUpdate", "scheduledUpdate": window}
    finalizers = [names.RESERVATION_FINALIZER] if held else []
    return nodeset({"finalizers": finalizers}, **{"updateStrategy": strategy, **spec})


def made(start: int = START, *flags: str, nodes: str = "gpu-[0-1]", **facts: Any) -> Reservation:
    return msgspec.convert(
        {
            "name": NAME,
            "node_list": nodes,
            "users": "slurm",
            "flags": ["MAINT", "IGNORE_JOBS", "SPEC_NODES", *flags],
            "start_time": start,
            "end_time": start + 1800,
            **facts,
        },
        Reservation,
    )


def steps(
    owner: NodeSet, now: float, found: Reservation | None = None, nodes: frozenset[str] = NODES
) -> Steps:
    return decide(owner, nodes, requested(owner, 2), Seen(found, NODES, now))


def test_it_is_made_before_its_time_comes() -> None:
    done = steps(scheduled(" flex", "MAINT"), BEFORE)

    assert done.held
    assert done.request
    assert msgspec.json.decode(msgspec.json.encode(done.request)) == {
        "name": NAME,
        "start_time": {"set": True, "infinite": False, "number": START},
        "duration": {"set": True, "infinite": False, "number": 30},
        "node_list": ["gpu-[0-1]"],
        "users": ["slurm"],
        "flags": ["FLEX", "IGNORE_JOBS", "MAINT"],
    }
    assert event(done).reason == "ReservationCreated"


@pytest.mark.parametrize("now", [DURING, AFTER])
def test_it_is_not_made_when_its_time_has_come_and_that_is_said(now: float) -> None:
    done = steps(scheduled(), now)

    assert done.request is None
    assert done.condition
    assert done.condition.reason == "NotExists"
    assert "2026-11-16T03:00:00Z has passed" in done.condition.message


@pytest.mark.parametrize("now", [BEFORE, DURING])
def test_one_that_is_as_it_should_be_is_left_alone(now: float) -> None:
    done = steps(scheduled(), now, made())

    assert (done.remove, done.request) == (False, None)
    assert done.condition
    assert (done.condition.status, done.condition.reason) == ("True", "Created")


def test_its_nodes_follow_the_workers() -> None:
    done = steps(scheduled(), BEFORE, made(nodes="gpu-0"))

    assert done.request
    assert (done.request.node_list, done.request.start_time) == (("gpu-[0-1]",), UNSET)
    assert event(done).reason == "ReservationUpdated"


def test_a_worker_that_is_just_being_replaced_keeps_its_node_reserved() -> None:
    assert steps(scheduled(), DURING, made(), frozenset({"gpu-0"})).request is None


def test_a_node_that_slurm_has_forgotten_does_not_keep_the_others_out() -> None:
    done = steps(scheduled(), DURING, made(nodes="gpu-[0,9]"))

    assert done.request
    assert done.request.node_list == ("gpu-[0-1]",)


def test_it_is_moved_before_it_has_begun_and_never_after() -> None:
    early = steps(scheduled(), BEFORE, made(START + 3600))

    assert early.request
    assert early.request.start_time != UNSET
    assert early.request.flags == UNSET
    assert steps(scheduled(), DURING, made(START - 600)).request is None


def test_one_with_other_flags_is_made_anew_before_it_has_begun_and_never_after() -> None:
    done = steps(scheduled("FLEX"), BEFORE, made())

    assert done.remove
    assert done.request
    assert done.request.flags == ("FLEX", "IGNORE_JOBS", "MAINT")
    assert steps(scheduled("FLEX"), DURING, made()) == steps(scheduled(), DURING, made())


def test_a_flag_that_slurm_does_not_show_is_no_difference() -> None:
    assert steps(scheduled("SKIP"), BEFORE, made()).request is None


def test_a_flag_that_slurm_does_not_know_is_left_out_and_named() -> None:
    done = steps(scheduled("TYPO"), BEFORE)

    assert done.request
    assert done.request.flags == ("IGNORE_JOBS", "MAINT")
    assert [each.reason for each in done.problems] == ["InvalidFlags"]


@pytest.mark.parametrize(
    ("flag", "days", "due"),
    [
        ("DAILY", 0, 0), ("DAILY", 3, 3 * DAY), ("WEEKLY", 3, 7 * DAY), ("HOURLY", 1, DAY + 3600),
        ("WEEKDAY", 4, 4 * DAY), ("WEEKDAY", 5, 7 * DAY), ("WEEKEND", 1, 5 * DAY),
    ],
)  # fmt: skip
def test_one_that_repeats_is_made_for_its_next_time(flag: str, days: int, due: int) -> None:
    now = BEFORE + days * DAY + (1900 if flag == "HOURLY" else 0)
    done = steps(scheduled(flag), now)

    assert done.request
    assert done.request.start_time == msgspec.convert({"number": START + due}, type(done.request.start_time))
    assert steps(scheduled(flag), now, made(START + due, flag)).request is None


def test_one_that_repeats_may_be_forced_to_begin_at_once() -> None:
    assert steps(scheduled("DAILY"), DURING).request is None
    assert steps(scheduled("DAILY", "FORCE_START"), DURING).request


def test_without_workers_in_slurm_there_is_nothing_to_reserve() -> None:
    assert steps(scheduled(), BEFORE, nodes=frozenset()).request is None


def test_without_a_fresh_answer_nothing_is_done_and_the_nodeset_is_held() -> None:
    going = scheduled(updateStrategy={"type": "OnDelete"})

    assert decide(scheduled(), NODES, True, None) == Steps(held=True)
    unknown = decide(going, NODES, False, None)
    assert unknown.held
    assert [each.reason for each in unknown.problems] == ["ReservationUnknown"]


def test_it_goes_when_it_is_no_longer_wanted_and_only_then_is_the_nodeset_free() -> None:
    other = scheduled(updateStrategy={"type": "RollingUpdate"})

    assert steps(other, BEFORE, made()) == Steps(held=True, remove=True)
    assert event(Steps(remove=True)).reason == "ReservationRemoved"
    assert steps(other, BEFORE) == Steps()


def test_a_reservation_of_a_nodeset_that_never_had_one_is_not_touched() -> None:
    assert steps(scheduled(held=False, updateStrategy={"type": "OnDelete"}), BEFORE, made()) == Steps()


def test_none_is_wanted_without_workers_or_by_a_nodeset_that_goes() -> None:
    going = nodeset({"deletionTimestamp": "2026-01-01T00:00:00Z"}, updateStrategy={"type": "ScheduledUpdate"})

    assert requested(scheduled(), 1)
    assert not requested(scheduled(), 0)
    assert not requested(going, 1)
