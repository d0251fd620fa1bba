"""Verdicts on protected Secrets."""

from typing import Any

import pytest

from slurmery.admission.lookups import Answer, Unreadable
from slurmery.admission.review import Object, Request
from tests.unit.admission.reviews import BY_PATH, NAMESPACE, creation, judged, seen, update

HOOK = BY_PATH["/validate--v1-secret"]


def secret(**annotations: str) -> Object:
    return {
        "metadata": {"name": "s", "annotations": {f"slurm.nebius.ai/{k}": v for k, v in annotations.items()}}
    }


def deletion(old: Object | None) -> Request:
    return Request("u", "DELETE", "s", NAMESPACE, None, old)


@pytest.mark.parametrize(
    ("given", "allowed"),
    [
        (secret(cluster="c"), True),
        (secret(**{"cluster-name": "c"}), True),
        (secret(cluster=""), False),
        (secret(), False),
        ({"metadata": {}}, False),
        ({"metadata": {"annotations": None}}, False),
        ({}, False),
    ],
)
def test_it_must_name_its_cluster(given: Object, allowed: bool) -> None:
    assert judged(HOOK, creation(given)).allowed is allowed


def test_it_cannot_be_changed_unless_it_is_going() -> None:
    kept = secret(cluster="c")
    going: Object = {"metadata": {**kept["metadata"], "deletionTimestamp": "2027-01-01T00:00:00Z"}}

    assert not judged(HOOK, update(kept, kept)).allowed
    assert judged(HOOK, update(going, going)).allowed


TERMINATING = seen(metadata={"name": "c", "deletionTimestamp": "2027-01-01T00:00:00Z"})


@pytest.mark.parametrize(
    ("annotations", "answers", "allowed"),
    [
        ({"cluster": "c"}, {"c": seen()}, False),
        ({"cluster-name": "c"}, {"c": seen()}, False),
        ({"cluster": "gone", "cluster-name": "c"}, {"c": seen()}, False),
        ({"cluster": "c"}, {"c": None}, True),
        ({"cluster": "c"}, {"c": TERMINATING}, True),
        ({"cluster": "c"}, {"c": Unreadable("no")}, True),
        ({}, {}, True),
    ],
)
def test_it_goes_after_its_cluster(
    annotations: dict[str, str], answers: dict[str, Answer], allowed: bool
) -> None:
    verdict = judged(HOOK, deletion(secret(**annotations)), lambda want: answers.get(want.key.name))
    assert verdict.allowed is allowed


def test_a_cluster_that_cannot_be_read_is_warned_of() -> None:
    verdict = judged(HOOK, deletion(secret(cluster="c")), lambda _: Unreadable("403"))
    assert verdict.warnings == ("SlurmCluster c could not be read: 403",)


@pytest.mark.parametrize("odd", [None, {}, {"metadata": 5}, {"metadata": {"annotations": {}}}])
def test_a_nameless_one_can_always_go(odd: Any) -> None:
    assert judged(HOOK, deletion(odd)).allowed
