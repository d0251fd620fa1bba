"""Who leaves first, and how many at once: upstream's order and its numbers."""

import random
from typing import Any

import pytest

from slurmery.workers.model import Worker
from slurmery.workers.order import expendability
from slurmery.workers.rollout import limit, rolling


def worker(ordinal: int, **facts: Any) -> Worker:
    name = f"gpu-{ordinal}"
    return Worker(pod=name, slurm_name=name, slot=ordinal, **({"host": "h"} | facts))


# In the order in which they go; each is better than the one before by one thing, worse by all that follow.
IN_ORDER = [
    worker(0, host="", phase="Pending", ready=False),
    worker(1, phase="Pending", ready=False),
    worker(2, phase="Unknown", ready=False),
    worker(3, ready=False, deletion_cost=9),
    worker(4, deletion_cost=-1, deadline=90.0),
    worker(5, deletion_cost=0, cordoned=False),
    worker(6, deadline=10.0, cordoned=False),
    worker(7, deadline=20.0, cordoned=True),
    worker(1, deadline=20.0, cordoned=True),
    worker(9, deadline=20.0),
    worker(8, deadline=20.0, ready_since=2.0),
    worker(8, deadline=20.0, ready_since=1.0, created=2.0),
    worker(8, deadline=20.0, ready_since=1.0, created=1.0),
    worker(0, deletion_cost=1),
]


@pytest.mark.parametrize("seed", range(20))
def test_workers_leave_in_upstreams_order_whatever_order_they_are_listed_in(seed: int) -> None:
    listed = random.Random(seed).sample(IN_ORDER, len(IN_ORDER))

    assert sorted(listed, key=expendability) == IN_ORDER


@pytest.mark.parametrize(
    ("said", "total", "allowed"),
    [
        (1, 4, 1),
        (3, 2, 3),
        ("3", 8, 3),
        ("10%", 2, 1),
        ("25%", 8, 2),
        ("50%", 5, 3),
        ("100%", 4, 4),
        (0, 4, 1),
        ("0%", 4, 1),
        ("some", 4, 1),
    ],
)
def test_max_unavailable_is_a_number_or_a_part_that_rounds_up(
    said: int | str, total: int, allowed: int
) -> None:
    assert limit(said, total) == allowed


def test_nobody_is_replaced_where_nobody_is_wanted() -> None:
    assert rolling([], "new", 0, "100%") == ()


def test_of_four_with_one_new_not_ready_half_of_them_means_one_more_the_highest() -> None:
    new = worker(3, revision="new", ready=False, available=False)
    old = [worker(n, revision="old", registered_once=True) for n in range(3)]

    assert rolling([new, *old], "new", 4, "50%") == ("gpu-2",)


def test_pods_that_end_use_up_the_budget_and_those_too_many_do_not() -> None:
    old = [worker(n, revision="old", registered_once=True) for n in range(3)]
    ending = worker(3, revision="old", terminating=True)

    assert rolling([*old, ending], "new", 4, 1) == ()
    assert rolling([*old, ending], "new", 3, 1) == ("gpu-2",)
