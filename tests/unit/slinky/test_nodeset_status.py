"""How a NodeSet stands, and what Slurm's word puts on its pods."""

from typing import Any

import pytest

from slurmery.api.slinky import NodeSet
from slurmery.doors.conditions import Problem
from slurmery.slinky import names
from slurmery.slinky.nodeset.status import Standing, conditions, fields, pod_conditions, protection
from slurmery.slurm.model import Node
from slurmery.workers.model import Wait, Worker
from tests.unit.slinky.fleets import node, pod
from tests.unit.slinky.sets import nodeset

NOW = "2026-01-01T00:00:00Z"


def worker(ordinal: int = 0, slurm: Node | None = None, **facts: Any) -> Worker:
    name = f"gpu-{ordinal}"
    usual: dict[str, Any] = {"revision": "new", "host": "h1", "slurm": slurm}
    return Worker(pod=name, slurm_name=name, slot=ordinal, **(usual | facts))


def standing(*workers: Worker, desired: int = 2, **facts: Any) -> Standing:
    return Standing(workers=workers, desired=desired, revision="new", **facts)


def said(about: Standing, of: NodeSet | None = None) -> dict[str, tuple[str, str, str]]:
    return {
        each.type: (each.status, each.reason, each.message) for each in conditions(of or nodeset(), about)
    }


def test_pods_and_slurm_nodes_are_counted() -> None:
    workers = [
        worker(0, node("gpu-0", "IDLE", "DRAIN")),
        worker(1, node("gpu-1", "MIXED"), available=False),
        worker(2, node("gpu-2", "DOWN"), ready=False, available=False, revision="old"),
        worker(3, node("gpu-3", "ALLOCATED"), terminating=True),
    ]
    told = fields(nodeset({"generation": 4}), standing(*workers, desired=3))

    assert told == {
        "replicas": 4,
        "updatedReplicas": 2,
        "readyReplicas": 2,
        "availableReplicas": 1,
        "unavailableReplicas": 2,
        "desired": 3,
        "slurmIdle": 1,
        "slurmAllocated": 2,
        "slurmDown": 1,
        "slurmDrain": 1,
        "observedGeneration": 4,
        "nodeSetHash": "new",
        "collisionCount": None,
        "ordinalToNode": None,
        "selector": "app.kubernetes.io/instance=gpu,app.kubernetes.io/name=slurmd",
    }


def test_counters_stay_until_slurm_has_answered_for_the_first_time() -> None:
    assert "slurmIdle" not in fields(nodeset(), standing(worker(), asked=False))


def test_a_pin_that_no_longer_holds_is_taken_out() -> None:
    before = {"nodeSetHash": "new", "selector": "", "ordinalToNode": {"0": "h1", "1": "gone"}}
    pinned = nodeset().model_copy(update={"status": _status(before)})

    assert fields(pinned, standing(pins={"0": "h1"}))["ordinalToNode"] == {"0": "h1", "1": None}
    assert fields(pinned, standing(pins=None))["ordinalToNode"] is None


def _status(given: dict[str, Any]) -> Any:
    manifest = {**nodeset().model_dump(by_alias=True, mode="json"), "status": given}
    return NodeSet.model_validate(manifest).status


def test_a_settled_nodeset_is_ready_and_nothing_more() -> None:
    told = said(standing(worker(0), worker(1)))

    assert {kind: status for kind, (status, *_) in told.items()} == {
        "Ready": "True",
        "Progressing": "False",
        "Degraded": "False",
    }


def test_a_wait_is_told_with_its_pod_and_its_reason() -> None:
    waits = [Wait(f"gpu-{n}", "scale-in waits: it has running jobs") for n in range(5)]
    status, reason, message = said(standing(worker(0), desired=1, waits=waits))["Progressing"]

    assert (status, reason) == ("True", "Waiting")
    assert message.startswith("gpu-0: scale-in waits: it has running jobs; gpu-1: ")
    assert message.endswith("; and 2 more.")


def test_a_deletion_that_waits_says_so() -> None:
    going = nodeset({"deletionTimestamp": NOW})
    waits = [Wait("gpu-0", "deletion waits: it has running jobs")]

    assert said(standing(worker(), desired=0, waits=waits), going)["Progressing"] == (
        "True",
        "DeletionWaits",
        "gpu-0: deletion waits: it has running jobs.",
    )


def test_what_blocks_and_what_is_wrong_is_told() -> None:
    blocked = [Problem("ControllerNotFound", "Controller slurm does not exist.")]
    told = said(standing(blocked=blocked, problems=[Problem("SlurmNotAnswering", "Slurm is silent.")]))

    assert told["Ready"][:2] == ("False", "ControllerNotFound")
    assert told["Degraded"] == (
        "True",
        "ControllerNotFound",
        "Controller slurm does not exist. Slurm is silent.",
    )


def condition(kind: str, message: str = "") -> dict[str, str]:
    return {"type": f"SlurmNodeState{kind}", "status": "True", "message": message}


@pytest.mark.parametrize(
    ("facts", "before", "changed", "removed"),
    [
        ({"slurm": node("gpu-0", "IDLE")}, (), {"Idle": ""}, set()),
        ({"slurm": node("gpu-0", "IDLE")}, (condition("Idle"),), {}, set()),
        (
            {"slurm": node("gpu-0", "MIXED", "DRAIN", reason="disk")},
            (condition("Idle"),),
            {"Mixed": "disk", "Drain": "disk"},
            {"Idle"},
        ),
        ({"slurm": node("gpu-0", "DOWN", reason="new")}, (condition("Down", "old"),), {"Down": "new"}, set()),
        ({"slurm": node("gpu-0", "IDLE", "CLOUD")}, (), {"Idle": ""}, set()),
        ({"fresh": False}, (condition("Idle"),), {}, set()),
        ({"slurm": None}, (), {}, set()),
        (
            {"slurm": None, "registered_once": True},
            (condition("Idle"),),
            {"Unknown": "Slurm does not know the node any longer"},
            {"Idle"},
        ),
    ],
    ids=["new", "same", "other", "reason", "no word for it", "silence", "never known", "forgotten"],
)
def test_pods_say_what_slurm_says_of_them(
    facts: dict[str, Any], before: tuple[dict[str, str], ...], changed: dict[str, str], removed: set[str]
) -> None:
    patch = pod_conditions(worker(**facts), pod(conditions=before), NOW)
    listed = patch["status"]["conditions"] if patch else []

    assert {each["type"]: each["message"] for each in listed if "message" in each} == {
        f"SlurmNodeState{kind}": message for kind, message in changed.items()
    }
    assert {each["type"] for each in listed if "$patch" in each} == {
        f"SlurmNodeState{kind}" for kind in removed
    }


BUSY, IDLE = node("gpu-0", "MIXED"), node("gpu-0", "IDLE")
PROTECTED = {names.POD_PROTECT_LABEL: "true"}


@pytest.mark.parametrize(
    ("facts", "before", "label"),
    [
        ({"slurm": BUSY}, {}, "true"),
        ({"slurm": BUSY}, PROTECTED, "unchanged"),
        ({"slurm": IDLE}, PROTECTED, None),
        ({"slurm": IDLE}, {}, "unchanged"),
        ({"slurm": IDLE, "fresh": False}, PROTECTED, "unchanged"),
        ({"slurm": None}, PROTECTED, "unchanged"),
    ],
    ids=["busy", "still busy", "free", "still free", "silence", "forgotten"],
)
def test_busy_workers_are_protected_until_they_are_known_to_be_free(
    facts: dict[str, Any], before: dict[str, str], label: str | None
) -> None:
    patch = protection(nodeset(), worker(**facts), pod(labels=before))

    assert (patch["metadata"]["labels"][names.POD_PROTECT_LABEL] if patch else "unchanged") == label


def test_a_user_may_do_without_protection() -> None:
    unprotected = nodeset(workloadDisruptionProtection=False)

    assert protection(unprotected, worker(slurm=BUSY), pod()) is None
    assert protection(unprotected, worker(slurm=BUSY), pod(labels=PROTECTED)) is not None
