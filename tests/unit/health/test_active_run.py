"""Runs of checks in Slurm: when they begin, where, and how they end."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slurmery.api.nebius.activecheck import ActiveCheckSpec
from slurmery.doors.views import Custom
from slurmery.health.active import reactions, run
from slurmery.health.active.reactions import Word
from slurmery.health.active.run import Run, due, ended, held, reported, run_of, targets
from slurmery.health.active.schedule import schedule
from slurmery.health.active.waits import waits
from slurmery.kube.meta import ObjectMeta
from slurmery.slurm.model import Job, Node

NOW = datetime(2026, 11, 15, 12, tzinfo=UTC)
DAILY = schedule("0 0 * * *")


def spec(**fields: Any) -> ActiveCheckSpec:
    given = {"name": "diag", "slurmClusterRefName": "aurora", "checkType": "slurmJob", **fields}
    return ActiveCheckSpec.model_validate(given)


def job(number: int, state: str, **fields: Any) -> Job:
    return Job(job_id=number, job_state=(state,), **fields)


def run_with(*ids: int) -> Run:
    return Run(NOW - timedelta(hours=1), "InProgress", ids)


def test_the_first_run_follows_the_creation_also_while_the_schedule_is_on_hold() -> None:
    assert due(spec(suspend=True), DAILY, Run(), NOW, "u") == NOW
    assert due(spec(suspend=True, runAfterCreation=False), DAILY, Run(), NOW, "u") is None
    assert due(spec(suspend=True), DAILY, Run(NOW, "Complete"), NOW, "u") is None


@given(st.text(min_size=1, max_size=40))
def test_checks_of_the_same_time_are_spread_over_a_minute(uid: str) -> None:
    at = due(spec(suspend=False), DAILY, Run(NOW, "Complete"), NOW, uid)
    midnight = datetime(2026, 11, 16, tzinfo=UTC)
    assert at is not None
    assert midnight <= at < midnight + timedelta(minutes=1)


def test_each_worker_that_can_run_jobs_gets_one_and_nobody_two() -> None:
    nodes = [
        Node(name="w-0", state=("IDLE",)),
        Node(name="w-1", state=("IDLE", "DRAIN")),
        Node(name="w-2", state=("MIXED",)),
        Node(name="w-3", state=("DOWN", "NOT_RESPONDING")),
    ]
    each = spec(slurmJobSpec={"eachWorkerJobs": True})
    assert set(targets(each, nodes, [], "m", set())) == {"w-0", "w-2"}
    assert targets(each, nodes, [job(1, "RUNNING", required_nodes="w-0")], "m", set()) == ("w-2",)
    some = spec(slurmJobSpec={"eachWorkerJobArray": True, "maxNumberOfJobs": 1})
    assert len(targets(some, nodes, [], "m", set())) == 1
    assert targets(some, nodes, [job(1, "RUNNING", required_nodes="w-0")], "m", set()) == ()


def test_a_plain_check_is_one_job_wherever_slurm_likes() -> None:
    plain = spec(slurmJobSpec={})
    assert targets(plain, [], [], "m", set()) == ("",)
    assert targets(plain, [], [job(1, "PENDING")], "m", set()) == ()


@pytest.mark.parametrize("state", ["FAILED", "TIMEOUT", "NODE_FAIL", "OUT_OF_MEMORY", "BOOT_FAIL"])
def test_a_job_that_did_not_come_to_its_end_has_failed(state: str) -> None:
    results = ended(run_with(1), [job(1, state)], NOW)
    assert (results.state, results.state_1_22) == ("Failed", "Failed")


@pytest.mark.parametrize(
    ("states", "now", "before"),
    [
        (("COMPLETED", "COMPLETED"), "Complete", "Complete"),
        (("COMPLETED", "RUNNING"), "InProgress", "InProgress"),
        (("FAILED", "PENDING"), "InProgress", "InProgress"),
        (("COMPLETED", "TIMEOUT"), "Failed", "Degraded"),
        (("COMPLETED", "DEADLINE"), "Error", "Degraded"),
        (("CANCELLED", "CANCELLED"), "Cancelled", "Failed"),
        (("CANCELLED", "DEADLINE"), "Error", "Failed"),
    ],
)
def test_a_run_ends_in_the_words_of_both_versions(states: tuple[str, ...], now: str, before: str) -> None:
    jobs = [job(number, state) for number, state in enumerate(states)]
    results = ended(run_with(*range(len(states))), jobs, NOW)
    assert (results.state, results.state_1_22) == (now, before)


def test_a_job_that_slurm_forgot_is_an_error_but_not_in_the_first_moments() -> None:
    assert ended(run_with(1), [], NOW).state == "Error"
    assert ended(Run(NOW, "InProgress", (1,)), [], NOW).state == "InProgress"


def test_the_status_holds_all_that_a_run_needs_to_go_on() -> None:
    status = run.submitted(run.begun(NOW, "diag"), [7, 5])
    assert run_of(status) == Run(NOW, "InProgress", (5, 7))
    results = ended(run_of(status), [job(5, "TIMEOUT", nodes="w-0"), job(7, "RUNNING")], NOW)
    told = reported(status, results, NOW)
    assert run_of(told) == Run(NOW, "InProgress", (5, 7), ("5",))
    assert told["lastJobFailReasons"] == ["TIMEOUT"]
    assert reported(told, results, NOW + timedelta(minutes=1)) == told


def test_reactions_speak_the_words_of_their_version() -> None:
    old = spec(reactions={"setCondition": True, "drainSlurmNode": True})
    assert reactions.on_failure(old, "diag", 5) == Word("[node_problem] Failed diag: job 5 [slurm_job]")
    vague = spec(reactions={"drainSlurmNode": True, "commentSlurmNode": True})
    assert reactions.on_failure(vague, "diag", 5) == Word(
        "Soperator activecheck unknown: node drain process",
        "Failed diag: job 5 [slurm_job]",
    )
    new = spec(
        failureReactions={"drainSlurmNode": {"drainReasonPrefix": "[node_problem]"}},
        successReactions={"commentSlurmNode": {"commentPrefix": "ok"}},
    )
    assert reactions.on_failure(new, "diag", 5) == Word("[node_problem] diag: job 5 [slurm_job]")
    assert reactions.on_success(new, "diag", 5) == Word(comment="ok diag: job 5 [slurm_job]")
    assert reactions.on_failure(spec(), "diag", 5) == Word()


def test_a_node_that_is_reserved_for_checks_is_checked_there_and_no_other_reserved_one() -> None:
    nodes = [
        Node(name="w-0", state=("IDLE", "RESERVED")),
        Node(name="w-1", state=("IDLE", "RESERVED")),
        Node(name="w-2", state=("IDLE", "RESERVED", "DRAIN")),
        Node(name="w-3", state=("IDLE",)),
    ]
    there = {"bad-w-0", "bad-w-2", "maintenance"}
    each = spec(
        slurmJobSpec={"eachWorkerJobs": True},
        failureReactions={"addReservation": {"prefix": "bad"}},
        successReactions={"removeReservation": {"prefix": "bad"}},
    )
    assert set(targets(each, nodes, [], "m", there)) == {"w-0", "w-3"}
    assert [held(each, node.name, there) for node in nodes] == ["bad-w-0", "", "bad-w-2", ""]
    assert reactions.on_failure(each, "diag", 5) == Word(reserve="bad")
    assert reactions.on_success(each, "diag", 5) == Word(release="bad")
    assert reactions.reserves(each)
    assert not reactions.reserves(spec())


def test_each_task_of_an_array_counts() -> None:
    array = [job(7, "COMPLETED", raw_array_job_id=7), job(8, "TIMEOUT", raw_array_job_id=7)]
    results = ended(run_with(7), array, NOW)
    assert (results.state, results.state_1_22) == ("Failed", "Degraded")
    assert ended(run_with(7), [*array, job(9, "RUNNING", raw_array_job_id=7)], NOW).open == 1


def test_a_check_that_has_nothing_to_check_is_skipped() -> None:
    skipped = run.Ended(skipped=True)
    assert (skipped.state, skipped.state_1_22) == ("Skipped", "Complete")


def test_a_check_waits_for_its_cluster_and_for_those_it_depends_on() -> None:
    cluster = Custom(metadata=ObjectMeta(name="aurora"), status={"phase": "Available"})
    open_ = Custom(metadata=ObjectMeta(name="first"), spec={"checkType": "slurmJob"})
    done = Custom(
        metadata=ObjectMeta(name="first"),
        spec={"checkType": "slurmJob"},
        status={"slurmJobsStatus": {"lastRunStatus": "Skipped"}},
    )
    later = spec(dependsOn=["first"])
    assert "does not exist" in waits(later, None, {})
    assert "not available" in waits(later, Custom(metadata=ObjectMeta(name="aurora")), {})
    assert waits(later, cluster, {"first": None}) == "ActiveCheck first does not exist."
    assert waits(later, cluster, {"first": open_}) == "ActiveCheck first has not passed."
    assert waits(later, cluster, {"first": done}) == ""


def test_a_run_that_1_22_began_is_followed_to_its_end() -> None:
    old = {"lastJobId": "5", "lastJobName": "diag", "lastJobState": "InProgress"}
    old["lastJobSubmitTime"] = run.stamp(NOW)
    told = reported({**old}, ended(run_of({**old}), [job(5, "COMPLETED")], NOW), NOW)
    assert run_of(told) == Run(NOW, "Complete", (5,))
    assert told["lastJobState"] == "Complete"
