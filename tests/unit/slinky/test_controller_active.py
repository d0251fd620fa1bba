"""The label that leads clients to the active slurmctld."""

from typing import Any

import pytest

from slurmery.slinky.controller.active import Relabel, relabels
from slurmery.slinky.controller.observed import SlurmctldPod
from tests.unit.slinky.clusters import controller, world

FIRST, SECOND = "slurm-controller-0", "slurm-controller-1"
HA: dict[str, Any] = {"ha": {"enabled": True}, "persistence": {"enabled": True, "existingClaim": "shared"}}


def pods(first: str, second: str) -> tuple[SlurmctldPod, ...]:
    """Two pods by words: "ready", "active", or neither."""
    return tuple(
        SlurmctldPod(name, "ready" in words, "active" in words)
        for name, words in ((FIRST, first), (SECOND, second))
    )


@pytest.mark.parametrize(
    ("seen", "answering", "changed"),
    [
        (pods("ready", "ready"), (FIRST, SECOND), [(FIRST, True)]),
        (pods("ready active", "ready"), (FIRST, SECOND), []),
        (pods("active", "ready"), (SECOND,), [(SECOND, True), (FIRST, False)]),
        (pods("ready", "ready active"), (FIRST, SECOND), [(FIRST, True), (SECOND, False)]),
        (pods("ready", "ready"), (), [(FIRST, True)]),
        (pods("ready", "ready active"), (), []),
        (pods("ready", "active"), (), [(FIRST, True), (SECOND, False)]),
        (pods("", ""), (), [(FIRST, True)]),
        (pods("ready active", "ready"), ("elsewhere",), []),
        ((), (FIRST,), []),
    ],
    ids=[
        "both answer: the first",
        "nothing to change",
        "the first is down: the second, set before the other is taken",
        "the first is back",
        "Slurm cannot be asked: the first",
        "Slurm cannot be asked: whoever it was",
        "Slurm cannot be asked and whoever it was is down",
        "nobody is ready",
        "a host that is no pod of ours",
        "no pods yet",
    ],
)
def test_clients_are_led_to_the_first_that_answers(
    seen: tuple[SlurmctldPod, ...], answering: tuple[str, ...], changed: list[tuple[str, bool]]
) -> None:
    found = relabels(controller(**HA), world(pods=seen, answering=answering))
    assert found == tuple(Relabel(*each) for each in changed)


def test_an_only_pod_of_an_older_release_gets_the_label() -> None:
    only = (SlurmctldPod(FIRST, ready=True, active=False),)
    assert relabels(controller(), world(pods=only)) == (Relabel(FIRST, active=True),)
