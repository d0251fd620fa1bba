"""A new slurm.key waits until it costs no job."""

from typing import Any

import pytest

from slurmery.kube.desired import Policy
from slurmery.slinky.controller.decide import ControllerPlan, decide
from slurmery.slinky.controller.rotation import NOW
from tests.unit.slinky.clusters import SETTLED, controller, nodeset, world


def plan(annotations: dict[str, str] | None = None, **observed: Any) -> ControllerPlan:
    """Of a cluster with a worker, whose key is another than slurmctld was started with."""
    seen = {
        "key_in_force": "old",
        "slurm_key_hash": "new",
        "nodesets": (nodeset("gpu"),),
        "rollout": SETTLED,
        **observed,
    }
    return decide(controller(metadata={"annotations": annotations or {}}), world(**seen))


def waits(found: ControllerPlan) -> bool:
    """Whether nothing about the cluster changes; what is said must agree."""
    frozen = {each.policy for each in found.desired} == {Policy.CREATE_ONCE}
    said = [each for each in found.conditions if each.reason == "KeyRotation"]
    assert frozen == bool(said) == (found.prune == ())
    return frozen


@pytest.mark.parametrize("busy", [("gpu-0",), None], ids=["a job runs", "unknown is busy"])
def test_a_new_key_waits_for_running_jobs(busy: tuple[str, ...] | None) -> None:
    assert waits(plan(busy=busy))


def test_people_are_told_where_the_jobs_are_and_how_to_go_on_without_them() -> None:
    [said] = [each.message for each in plan(busy=tuple("abcdefg")).conditions if each.reason == "KeyRotation"]
    assert "jobs on a, b, c, d, e and 2 more" in said
    assert f'{NOW}="true"' in said


def test_a_new_key_is_taken_when_no_job_runs_when_there_are_no_workers_or_when_a_person_says_so() -> None:
    assert not waits(plan(busy=()))
    assert not waits(plan(nodesets=()))
    assert not waits(plan(nodesets=(nodeset("gpu", replicas=0),)))
    assert not waits(plan({NOW: "true"}, busy=("gpu-0",)))


def test_the_same_key_a_first_key_and_a_new_jwt_key_wait_for_nothing() -> None:
    assert not waits(plan(key_in_force="new", busy=None))
    assert not waits(plan(key_in_force=None, busy=None))
    assert not waits(plan(key_in_force="new", busy=None, jwt_key_hash="another"))
