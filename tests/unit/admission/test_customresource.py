"""Verdicts that all kinds share."""

from typing import Any

import pytest

from slurmery.admission.review import Object, Verdict
from tests.unit.admission.reviews import (
    BY_PATH,
    REF,
    SLINKY,
    controller,
    creation,
    everything,
    judged,
    manifest,
    nothing,
    update,
)


def test_what_is_in_order_is_taken_in_silence() -> None:
    assert controller(accountingRef={"name": "a"}, configFileRefs=[{"name": "files"}]) == Verdict.on([])


def test_nobody_is_in_the_wrong_who_changes_nothing_or_deletes() -> None:
    hook = BY_PATH[f"{SLINKY}controller"]
    bad = manifest("Controller", {"configFileRefs": [{"name": "nowhere"}]})
    labelled: Object = {**bad, "metadata": {"name": "x", "labels": {"a": "b"}}}
    leaving: Object = {
        **bad,
        "metadata": {"name": "x", "deletionTimestamp": "2027-01-01T00:00:00Z"},
        "spec": {},
    }

    assert not judged(hook, creation(bad), nothing).allowed
    for request in (update(bad, labelled), update(bad, leaving)):
        assert list(hook.wants(request)) == []
        assert judged(hook, request) == Verdict()


def test_an_object_of_another_kind_is_refused() -> None:
    stray = manifest("NodeSet", REF)

    assert (
        "kind: must be slinky.slurm.net/v1beta1 Controller"
        in judged(BY_PATH[f"{SLINKY}controller"], creation(stray)).message
    )


@pytest.mark.parametrize("spec", [None, [], "x", 5, {"configFileRefs": ["a"]}, {"ha": [], "persistence": 1}])
def test_faults_of_the_schema_do_not_stop_the_judge(spec: Any) -> None:
    assert not judged(
        BY_PATH[f"{SLINKY}controller"], creation(manifest("Controller", spec)), everything
    ).allowed
