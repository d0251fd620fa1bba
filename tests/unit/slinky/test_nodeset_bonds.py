"""What claims belong to."""

from typing import Any

import msgspec
import pytest

from slurmery.api.slinky import NodeSet
from slurmery.doors.views import Claim
from slurmery.slinky.nodeset.bonds import changes, contested
from tests.unit.slinky.sets import nodeset

NODESET = {"apiVersion": "slinky.slurm.net/v1beta1", "kind": "NodeSet", "name": "gpu", "uid": "uid-gpu"}
FORMER = {**NODESET, "uid": "uid-former", "controller": True}
POD = {"apiVersion": "v1", "kind": "Pod", "name": "gpu-0", "uid": "uid-pod", "controller": True}
STRANGER = {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "db", "uid": "uid-db", "controller": True}


def claim(*owners: dict[str, Any], **metadata: Any) -> Claim:
    facts = {"name": "data-gpu-0", "namespace": "slurm", "uid": "uid-claim", "ownerReferences": owners}
    return msgspec.convert({"metadata": {**facts, **metadata}}, Claim)


def policy(deleted: str, scaled: str = "Retain") -> NodeSet:
    return nodeset(persistentVolumeClaimRetentionPolicy={"whenDeleted": deleted, "whenScaled": scaled})


def gone(uid: str) -> dict[str, str]:
    return {"$patch": "delete", "uid": uid}


@pytest.mark.parametrize(
    ("given", "owners", "patch"),
    [
        (policy("Retain"), (), []),
        (policy("Delete"), (), [NODESET]),
        (policy("Delete"), (NODESET,), []),
        (policy("Retain"), (NODESET,), [gone("uid-gpu")]),
        (policy("Retain", "Delete"), (POD,), [gone("uid-pod")]),
        (policy("Delete", "Delete"), (POD,), [gone("uid-pod"), NODESET]),
        (policy("Delete"), (FORMER,), [NODESET]),
        (policy("Retain"), (FORMER,), []),
        (policy("Delete"), (STRANGER,), []),
        (policy("Delete"), (STRANGER, NODESET), [gone("uid-gpu")]),
    ],
)
def test_owners_follow_the_policy(
    given: NodeSet, owners: tuple[dict[str, Any], ...], patch: list[dict[str, Any]]
) -> None:
    found = [each["metadata"]["ownerReferences"] for each in changes(given, [claim(*owners)]).values()]
    assert found == ([patch] if patch else [])


def test_a_claim_on_its_way_out_is_left_alone() -> None:
    assert changes(policy("Delete"), [claim(deletionTimestamp="2026-01-01T00:00:00Z")]) == {}


def test_a_claim_that_cannot_go_with_the_nodeset_is_told() -> None:
    told = contested(policy("Delete"), [claim(STRANGER), claim(POD), claim(NODESET)])

    assert [each.reason for each in told] == ["ConflictingController"]
    assert "StatefulSet db controls it" in told[0].message
    assert contested(policy("Retain"), [claim(STRANGER)]) == []
