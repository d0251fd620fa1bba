"""Which revision is the newest, and which are kept."""

from typing import Any

import msgspec
import pytest

from slurmery.api.slinky import NodeSet
from slurmery.slinky import names
from slurmery.slinky.nodeset.history import Newest, Revision, choose, expendable
from slurmery.slinky.nodeset.revision import build, hash_of
from tests.unit.slinky.sets import nodeset

# What Go writes out of the types of Kubernetes, beside what was said.
GO_CONTAINER = {"name": "", "resources": {}, "$patch": "replace"}
GO_TEMPLATE = {"metadata": {"creationTimestamp": None}, "spec": {"containers": None}, "$patch": "replace"}


def revision(number: int, name: str = "", owner: str = "uid-gpu", **facts: Any) -> Revision:
    reference = {"apiVersion": "v1", "kind": "NodeSet", "name": "gpu", "uid": owner, "controller": True}
    metadata = {
        "name": name or f"gpu-hash-{number}",
        "labels": {names.HASH_LABEL: name.removeprefix("gpu-") or f"hash-{number}"},
        "ownerReferences": [reference] if owner else [],
    }
    return msgspec.convert({"metadata": metadata, "revision": number, **facts}, Revision)


def ours(made: NodeSet, number: int) -> Revision:
    return msgspec.convert(build(made, number, hash_of(made)), Revision)


def upstream(**spec: Any) -> Revision:
    base = {"template": GO_TEMPLATE, "slurmd": {**GO_CONTAINER, "image": "slurmd:26.05"}}
    usual = {"ordinalPadding": 0, "oversubscribeNode": False}
    return revision(1, "gpu-7d9f8c6b5", data={"spec": {**base, **usual, **spec}})


def with_status(**status: Any) -> NodeSet:
    plain = nodeset().model_dump(by_alias=True, mode="json")
    return NodeSet.model_validate({**plain, "status": {"nodeSetHash": "", "selector": "", **status}})


def test_the_oldest_that_no_pod_has_are_forgotten_beyond_the_limit() -> None:
    known = [revision(number) for number in (3, 1, 5, 2, 4)]

    assert [each.revision for each in expendable(known, {"hash-5", "hash-1"}, 1)] == [2, 3]
    assert expendable(known, {"hash-5"}, 10) == []
    assert [each.revision for each in expendable(known, {"hash-5"}, 0)] == [1, 2, 3, 4]


def test_a_first_revision_has_the_hash_of_its_content() -> None:
    assert choose(nodeset(), []) == Newest(hash_of(nodeset()))


def test_what_upstream_rolled_out_is_not_rolled_out_again() -> None:
    assert choose(nodeset(), [upstream()]) == Newest("7d9f8c6b5")
    assert choose(nodeset(slurmd={"image": "slurmd:27"}), [upstream()]) != Newest("7d9f8c6b5")


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ({"limits": {"nvidia.com/gpu": 8}}, {"limits": {"nvidia.com/gpu": "8"}}),
        ({"limits": {"memory": "1024Mi", "cpu": 0.5}}, {"limits": {"memory": "1Gi", "cpu": "500m"}}),
        ({"requests": {}, "limits": None}, {}),
    ],
)
def test_amounts_are_the_same_however_they_are_written(ours: dict[str, Any], theirs: dict[str, Any]) -> None:
    image = {"image": "slurmd:26.05"}
    kept = upstream(slurmd={**GO_CONTAINER, **image, "resources": theirs})
    assert choose(nodeset(slurmd={**image, "resources": ours}), [kept]) == Newest("7d9f8c6b5")


def test_containers_that_the_user_added_are_recognised_in_gos_spelling() -> None:
    sidecar = {"name": "dcgm", "image": "dcgm", "securityContext": {"privileged": False}}
    spec = {"containers": [{**sidecar, "resources": {}}], "hostNetwork": False}
    written = {"containers": [{"name": "dcgm", "image": "dcgm"}], "nodeSelector": {"gpu": ""}}
    kept = upstream(template={**GO_TEMPLATE, "spec": {**written}})

    assert (
        choose(nodeset(template={"spec": {**spec, "nodeSelector": {"gpu": ""}}}), [kept]).digest
        == "7d9f8c6b5"
    )
    assert choose(nodeset(template={"spec": spec}), [kept]).digest != "7d9f8c6b5"


def test_in_our_own_revisions_false_is_a_word() -> None:
    careful = nodeset(slurmd={"image": "slurmd:26.05", "securityContext": {"privileged": False}})
    owned = revision(1, f"gpu-{hash_of(nodeset())}", data=ours(nodeset(), 1).data)
    labelled = msgspec.structs.replace(
        owned, metadata=msgspec.structs.replace(owned.metadata, labels=dict(ours(nodeset(), 1).labels))
    )

    assert choose(careful, [labelled]) == Newest(hash_of(careful))
    assert choose(nodeset(), [labelled]) == Newest(hash_of(nodeset()))


def test_going_back_finds_the_earlier_revision() -> None:
    earlier, later = nodeset(extraConf="Weight=1"), nodeset(extraConf="Weight=2")
    known = [
        revision(n, f"gpu-{hash_of(each)}", data=ours(each, n).data) for n, each in ((1, earlier), (2, later))
    ]

    assert choose(earlier, known) == Newest(hash_of(earlier))


def test_a_hash_that_another_revision_has_is_not_used_again() -> None:
    other = revision(1, f"gpu-{hash_of(nodeset())}", data={"spec": {"extraConf": "Weight=9"}})
    strangers = revision(1, f"gpu-{hash_of(nodeset(), 1)}", owner="uid-of-a-statefulset", data={})

    assert choose(nodeset(), [other]) == Newest(hash_of(nodeset(), 1), 1)
    assert choose(nodeset(), [other, strangers]) == Newest(hash_of(nodeset(), 2), 2)
    assert choose(with_status(collisionCount=4), []) == Newest(hash_of(nodeset(), 4), 4)


def test_a_revision_of_a_stranger_is_not_ours_though_it_says_the_same() -> None:
    strangers = revision(1, "gpu-abc", owner="uid-of-another", data=ours(nodeset(), 1).data)
    orphan = revision(1, "gpu-abc", owner="", data=ours(nodeset(), 1).data)

    assert choose(nodeset(), [strangers]).digest == hash_of(nodeset())
    assert choose(nodeset(), [orphan]).digest == "abc"


def test_of_equal_revisions_the_one_that_was_reported_counts() -> None:
    twins = [revision(n, f"gpu-{name}", data=ours(nodeset(), 1).data) for n, name in ((1, "aaa"), (1, "bbb"))]

    assert choose(nodeset(), twins).digest == "bbb"
    assert choose(with_status(nodeSetHash="aaa"), twins).digest == "aaa"
