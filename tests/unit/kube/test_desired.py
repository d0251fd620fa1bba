from typing import Any

import msgspec
import pytest

from slurmery.kube.desired import Desired, Owner, Policy
from slurmery.kube.meta import Key, Resource
from slurmery.kube.ownership import ANNOTATION, Footprint
from slurmery.kube.resources import CONFIG_MAPS

NODESETS = Resource("slinky.slurm.net", "v1beta1", "nodesets", "NodeSet")
OWNER = Owner(NODESETS, Key("slurm", "gpu"), "uid-gpu", {"instance": "gpu"})


def desired(**options: Any) -> Desired:
    metadata = {"name": "conf", "namespace": "slurm", "labels": {"component": "worker", "instance": "other"}}
    return Desired(CONFIG_MAPS, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}, **options)


def test_what_is_sent_carries_labels_owner_and_signature_and_the_wish_is_left_alone() -> None:
    wish = desired()
    metadata = OWNER.stamp(wish).manifest["metadata"]
    assert metadata["labels"] == {"component": "worker", "instance": "gpu"}
    assert metadata["ownerReferences"] == [
        {
            "apiVersion": "slinky.slurm.net/v1beta1",
            "kind": "NodeSet",
            "name": "gpu",
            "uid": "uid-gpu",
            "controller": True,
            "blockOwnerDeletion": True,
        }
    ]
    assert ANNOTATION in metadata["annotations"]
    assert wish == desired()


def test_what_outlives_its_owner_has_none() -> None:
    assert "ownerReferences" not in OWNER.stamp(desired(owned=False)).manifest["metadata"]


def test_a_generated_key_is_not_hashed_into_an_annotation() -> None:
    assert "annotations" not in OWNER.stamp(desired(policy=Policy.CREATE_ONCE)).manifest["metadata"]


def live(controller: str = "", labels: dict[str, str] | None = None, manager: str = "") -> Footprint:
    reference = {"apiVersion": "v1", "kind": "K", "name": "n", "uid": controller, "controller": True}
    managed = {"manager": manager, "operation": "Apply", "apiVersion": "v1", "fieldsV1": {}}
    metadata = {
        "name": "conf",
        "labels": labels,
        "ownerReferences": [reference] if controller else None,
        "managedFields": [managed] if manager else None,
    }
    return msgspec.json.decode(msgspec.json.encode({"metadata": metadata}), type=Footprint)


@pytest.mark.parametrize(
    ("found", "owns", "may_adopt"),
    [
        (live(controller="uid-gpu"), True, False),
        (live(controller="uid-other", labels={"instance": "gpu"}, manager="slurmery"), False, False),
        (live(labels={"instance": "gpu", "more": "x"}), False, True),
        (live(manager="slurmery"), False, True),
        (live(labels={"instance": "cpu"}, manager="kubectl"), False, False),
        (live(), False, False),
    ],
)
def test_whose_an_object_is(found: Footprint, owns: bool, may_adopt: bool) -> None:
    assert (OWNER.owns(found), OWNER.may_adopt(found)) == (owns, may_adopt)
