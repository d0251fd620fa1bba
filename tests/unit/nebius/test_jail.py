"""When the jail is filled, and when the cluster may use it."""

from typing import Any

import pytest

from slurmery.nebius.slurmcluster.jail import MODE, POPULATED, Jail, jail
from slurmery.nebius.slurmcluster.observed import Filling, Observed, PopulateJob
from tests.unit.nebius.clusters import cluster

OVERWRITE = "downscaleAndOverwritePopulateJail"
DELETE = "downscaleAndDeletePopulateJail"
RUNS, DONE = PopulateJob(Filling.RUNS, overwrites=False), PopulateJob(Filling.SUCCEEDED, overwrites=False)
FAILED = PopulateJob(Filling.FAILED, overwrites=False, words="BackoffLimitExceeded.")
AGAIN = {MODE: ("True", OVERWRITE)}


def found(mode: str = "none", pods_left: int = 0, **observed: Any) -> Jail:
    return jail(cluster(maintenance=mode), Observed(**observed), pods_left)


def populated(given: Jail) -> tuple[str, str]:
    [said] = [each for each in given.conditions if each.type == POPULATED]
    return said.status, said.reason


def test_a_job_that_has_succeeded_lets_the_cluster_start() -> None:
    given = found(populate=DONE)
    assert given.usable
    assert populated(given) == ("True", "Populated")


@pytest.mark.parametrize("job", [None, RUNS])
def test_until_then_nothing_starts(job: PopulateJob | None) -> None:
    given = found(populate=job)
    assert (given.job, given.usable) == (True, False)
    assert populated(given) == ("False", "Populating")


def test_a_failure_is_a_problem_in_words_and_the_job_stays_to_be_looked_at() -> None:
    given = found(populate=FAILED)
    assert (given.job, given.usable) == (True, False)
    assert "BackoffLimitExceeded. Look at its pod's log" in given.problems[0].message


def test_what_was_filled_once_is_not_filled_again_though_its_job_is_gone() -> None:
    given = found(said={POPULATED: ("True", "Populated")})
    assert (given.job, given.usable) == (False, True)


def test_what_somebody_else_fills_is_left_to_him_and_looked_at_afterwards() -> None:
    assert found("skipPopulateJail").usable
    assert not found("skipPopulateJail").job
    assert found(said={POPULATED: ("True", "Skipped")}).job


def test_deleting_forgets_the_job_and_that_it_was() -> None:
    given = found(DELETE, populate=DONE, said={POPULATED: ("True", "Populated")})
    assert (given.job, given.usable) == (False, True)
    assert populated(given) == ("False", "Deleted")
    assert found(said={POPULATED: ("False", "Deleted")}).job


@pytest.mark.parametrize("said", [{}, AGAIN])
def test_overwriting_waits_until_the_last_pod_is_gone(said: dict[str, tuple[str, str]]) -> None:
    given = found(OVERWRITE, pods_left=1, said=said)
    assert (given.job, given.usable) == (False, False)
    assert populated(given) == ("False", "WaitsForPods")


def test_a_job_from_before_says_nothing_about_the_new_filling() -> None:
    entered = found(OVERWRITE, populate=DONE, said={POPULATED: ("True", "Populated")})
    assert (entered.job, populated(entered)) == (False, ("False", "Overwriting"))
    still = found(OVERWRITE, populate=DONE, said=AGAIN)
    assert (still.job, populated(still)) == (False, ("False", "Overwriting"))


@pytest.mark.parametrize(
    ("state", "usable", "reason"),
    [(Filling.RUNS, False, "Populating"), (Filling.SUCCEEDED, True, "Overwritten")],
)
def test_a_new_job_overwrites(state: Filling, usable: bool, reason: str) -> None:
    given = found(OVERWRITE, populate=PopulateJob(state, overwrites=True), said=AGAIN)
    assert (given.job, given.usable, populated(given)[1]) == (True, usable, reason)


def test_once_for_each_stay_in_the_mode() -> None:
    done = {**AGAIN, POPULATED: ("True", "Overwritten")}
    assert not found(OVERWRITE, said=done).job
    left = {MODE: ("True", "downscale"), POPULATED: ("True", "Overwritten")}
    assert populated(found(OVERWRITE, said=left)) == ("False", "Overwriting")


@pytest.mark.parametrize("mode", ["none", "skipPopulateJail", "downscale", OVERWRITE, DELETE])
def test_the_mode_is_said_and_never_unknown(mode: str) -> None:
    [said] = [each for each in found(mode).conditions if each.type == MODE]
    assert (said.status, said.reason) == ("True", mode)
