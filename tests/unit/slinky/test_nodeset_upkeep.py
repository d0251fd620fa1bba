"""What upkeep there is, seen as a whole."""

from typing import Any

import msgspec

from slurmery.api.slinky import NodeSet
from slurmery.doors import marks
from slurmery.doors.hearing import Slurm
from slurmery.slinky import names
from slurmery.slinky.nodeset.decide import decide
from slurmery.slinky.nodeset.gather import Gathered
from slurmery.slinky.nodeset.upkeep import Upkeep
from slurmery.slinky.nodeset.upkeep import decide as upkeep
from slurmery.slurm.records import Reservation
from slurmery.slurm.snapshot import View
from tests.unit.slinky.fleets import READY_AT, host, node, pod, snapshot
from tests.unit.slinky.sets import nodeset, nodeset_world

NAME = "SlurmOperatorMaint-gpu"
GOING = {"deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": [names.RESERVATION_FINALIZER]}


def kept(owner: NodeSet, told: dict[str, float] | None = None, **facts: Any) -> Upkeep:
    made = msgspec.convert({"name": NAME, "node_list": facts.pop("nodes", "gpu-0")}, Reservation)
    listed = snapshot(node("gpu-0"), reservations=View({NAME: made}, 100.0))
    usual: dict[str, Any] = {
        "observed": nodeset_world(),
        "missing": (),
        "pods": {"gpu-0": pod("gpu-0")},
        "hosts": {"h1": host()},
        "siblings": (),
        "slurm": Slurm(listed, told or {}, 103.0),
        "now": READY_AT,
    }
    seen = Gathered(**(usual | facts))
    return upkeep(owner, seen, decide(owner, seen).standing)


def test_a_reservation_goes_with_its_nodeset() -> None:
    assert kept(nodeset(GOING)).reservation.remove


def test_what_was_just_told_is_not_told_again_before_slurm_answers() -> None:
    steps = kept(nodeset(GOING), {NAME: 101.0}).reservation

    assert (steps.held, steps.remove) == (True, False)


def test_a_person_or_the_end_of_the_cluster_frees_a_nodeset_from_its_reservation() -> None:
    forced = nodeset({**GOING, "annotations": {marks.FORCE: "true"}})

    assert not kept(forced).reservation.held
    assert not kept(nodeset(GOING), observed=None).reservation.held


def test_a_reservation_that_cannot_be_read_is_left_alone() -> None:
    window = {"startTime": "2027-01-01T00:00:00Z"}
    scheduled = nodeset(updateStrategy={"type": "ScheduledUpdate", "scheduledUpdate": window})
    steps = kept(scheduled, nodes="gpu-[").reservation

    assert (steps.held, steps.remove, steps.request) == (True, False, None)


def test_words_wait_for_a_fresh_answer() -> None:
    assert kept(nodeset()).unsure == frozenset()
    assert kept(nodeset(), {"gpu-0": 99.0}).unsure == {"gpu-0"}
