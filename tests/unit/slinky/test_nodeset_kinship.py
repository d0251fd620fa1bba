"""Whose a pod is."""

from typing import Any

import pytest

from slurmery.kube.meta import Key
from slurmery.slinky import names
from slurmery.slinky.nodeset.kinship import changes, orphaned
from slurmery.slinky.nodeset.pods import owner
from tests.unit.slinky.fleets import pod
from tests.unit.slinky.sets import nodeset

OURS = {names.NAME_LABEL: "slurmd", names.INSTANCE_LABEL: "gpu"}
OWNER = owner(nodeset())
ANCHOR = {"apiVersion": "v1", "kind": "ConfigMap", "name": "kube-root-ca.crt", "uid": "ca"}
LOST = {"$patch": "delete", "uid": "uid-gpu"}


@pytest.mark.parametrize(
    ("mode", "name", "facts", "ours"),
    [
        ("StatefulSet", "gpu-3", {}, True),
        ("StatefulSet", "gpu-003", {}, True),
        ("StatefulSet", "gpu-a-3", {}, False),
        ("StatefulSet", "gpu-x", {}, False),
        ("DaemonSet", "gpu-x", {}, True),
        ("StatefulSet", "gpu-x", {"labels": {**OURS, names.SCALING_MODE_LABEL: "DaemonSet"}}, True),
        ("StatefulSet", "gpu-3", {"labels": {**OURS, names.INSTANCE_LABEL: "cpu"}}, False),
        ("StatefulSet", "gpu-3", {"owners": (OWNER,)}, False),
        ("StatefulSet", "gpu-3", {"owners": (ANCHOR,)}, True),
    ],
)
def test_an_orphan_is_known_by_labels_and_name(
    mode: str, name: str, facts: dict[str, Any], ours: bool
) -> None:
    assert orphaned(nodeset(scalingMode=mode), pod(name, **{"labels": OURS, **facts})) is ours


def test_orphans_are_adopted_and_strangers_released_and_the_rest_is_left_alone() -> None:
    own = [
        pod("gpu-0", labels=OURS, owners=(OWNER, ANCHOR)),
        pod("gpu-1", labels={**OURS, names.INSTANCE_LABEL: "mine"}, owners=(OWNER, ANCHOR)),
        pod("gpu-2", labels=OURS, owners=(OWNER,)),
        pod("gpu-9", labels=OURS, owners=(OWNER,), deleting=True),
    ]
    orphans = [
        pod("gpu-3", labels=OURS),
        pod("gpu-4", labels=OURS, deleting=True),
        pod("other-5", labels=OURS),
    ]
    found = changes(nodeset(), own, orphans, [ANCHOR])

    assert {key.name: each["metadata"]["ownerReferences"] for key, each in found.items()} == {
        "gpu-1": [LOST],
        "gpu-2": [ANCHOR],
        "gpu-3": [OWNER, ANCHOR],
    }
    assert found[Key("slurm", "gpu-3")]["metadata"]["uid"] == "uid-gpu-3"
