from datetime import UTC, datetime

import pytest

from slurmery.api.condition import Condition as Stamped
from slurmery.doors.conditions import (
    DEGRADED,
    READY,
    Condition,
    Problem,
    Rollout,
    changes,
    degrade,
    degraded,
    progressing,
    ready,
    stamped,
)

THEN = datetime(2026, 1, 1, tzinfo=UTC)
NOW = datetime(2026, 2, 1, tzinfo=UTC)
BROKEN = Problem("SecretNotFound", "Secret x does not exist.")


def rollout(**given: int) -> Rollout:
    return Rollout(
        **{"generation": 2, "observed_generation": 2, "replicas": 2, "ready": 2, "updated": 2, **given}
    )


def said(condition: Condition, message: str = "before") -> Stamped:
    return Stamped(
        type=condition.type,
        status=condition.status,
        reason=condition.reason,
        message=message,
        last_transition_time=THEN,
    )


@pytest.mark.parametrize(
    ("seen", "wanted", "enough", "status", "reason"),
    [
        (None, 2, None, "False", "PodsNotReady"),
        (rollout(), 2, None, "True", "PodsReady"),
        (rollout(ready=1), 2, None, "False", "PodsNotReady"),
        (rollout(ready=1), 2, 1, "True", "PodsReady"),
        (rollout(ready=0), 2, 1, "False", "PodsNotReady"),
        (None, 0, None, "True", "ScaledToZero"),
    ],
)
def test_ready_means_enough_ready_pods(
    seen: Rollout | None, wanted: int, enough: int | None, status: str, reason: str
) -> None:
    condition = ready(seen, wanted, "slurmctld", enough=enough)
    assert (condition.status, condition.reason) == (status, reason)


def test_what_blocks_is_why_it_is_not_ready() -> None:
    assert ready(None, 1, "slurmctld", blocked=[BROKEN]) == Condition(
        READY, "False", "SecretNotFound", "0 of 1 slurmctld pods are ready. Secret x does not exist."
    )
    assert ready(rollout(), 2, "slurmctld", blocked=[BROKEN]).status == "True"
    assert progressing(None, 1, "slurmctld", blocked=[BROKEN]).status == "False"


@pytest.mark.parametrize(
    ("seen", "status", "reason"),
    [
        (None, "True", "Creating"),
        (rollout(), "False", "UpToDate"),
        (rollout(observed_generation=1), "True", "RollingOut"),
        (rollout(updated=1), "True", "RollingOut"),
        (rollout(ready=1), "True", "RollingOut"),
        (rollout(replicas=3, ready=3, updated=3), "True", "RollingOut"),
    ],
)
def test_progressing_until_all_pods_are_new_and_ready(seen: Rollout | None, status: str, reason: str) -> None:
    condition = progressing(seen, 2, "slurmctld")
    assert (condition.status, condition.reason) == (status, reason)


def test_all_problems_are_told_and_the_first_is_the_reason() -> None:
    other = Problem("Invalid", "Service y was refused.")
    both = Condition(DEGRADED, "True", "SecretNotFound", "Secret x does not exist. Service y was refused.")
    fine = ready(rollout(), 2, "slurmctld")
    assert degraded([BROKEN, other]) == both
    assert degrade((fine, degraded([BROKEN])), [other]) == (fine, both)
    assert degrade((fine, degraded([])), [BROKEN]) == (fine, degraded([BROKEN]))
    assert degraded([]).status == "False"


def test_a_time_changes_only_with_its_status_and_foreign_conditions_stay() -> None:
    down, fine = ready(None, 1, "slurmctld"), degraded([])
    foreign = said(Condition("Audited", "True", "Yes", ""))
    assert stamped([down, fine], [said(fine), foreign], 7, NOW) == [
        {
            "type": "Audited",
            "status": "True",
            "reason": "Yes",
            "message": "before",
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        },
        {
            "type": "Degraded",
            "status": "False",
            "reason": "AsExpected",
            "message": "Nothing is known to be wrong.",
            "observedGeneration": 7,
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        },
        {
            "type": "Ready",
            "status": "False",
            "reason": "PodsNotReady",
            "message": "0 of 1 slurmctld pods are ready.",
            "observedGeneration": 7,
            "lastTransitionTime": "2026-02-01T00:00:00Z",
        },
    ]


def test_writing_the_same_again_changes_nothing() -> None:
    first = stamped([degraded([])], [], 7, THEN)
    again = stamped([degraded([])], [Stamped.model_validate(each) for each in first], 7, NOW)
    assert again == first


def test_events_tell_of_changes_only() -> None:
    fine, broken = degraded([]), degraded([BROKEN])
    assert changes([broken], []) == changes([broken], [said(fine)])
    (event,) = changes([broken], [said(fine)])
    assert (event.type, event.reason, event.note) == ("Warning", "SyncFailed", BROKEN.message)
    assert changes([broken], [said(broken, BROKEN.message)]) == ()
    assert len(changes([broken], [said(broken, "another problem")])) == 1
    counting = progressing(rollout(ready=1), 2, "slurmctld")
    assert changes([counting], [said(counting, "another count")]) == ()
    (event,) = changes([fine], [said(broken)])
    assert event.type == "Normal"
