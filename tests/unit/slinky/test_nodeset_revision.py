from typing import Any

import pytest

from slurmery.slinky.nodeset.revision import _fnv, build, hash_of, outdated, text
from tests.unit.slinky import golden
from tests.unit.slinky.sets import SSSD, nodeset

KEY = "slinky.slurm.net/slurm-key-hash"


@pytest.mark.parametrize(("text", "number"), [(b"", 0x811C9DC5), (b"a", 0x050C5D7E), (b"foobar", 0x31F0B262)])
def test_the_hash_function_is_fnv_1(text: bytes, number: int) -> None:
    assert _fnv(text) == number


def test_the_revision_is_the_reviewed_one() -> None:
    given = nodeset(template={"metadata": {"labels": {"tier": "compute"}}}, extraConf="Weight=5")
    golden.check("nodeset-revision", [build(given, 3, hash_of(given))])


@pytest.mark.parametrize(
    "spec",
    [
        {"slurmd": {"image": "slurmd:27"}},
        {"logfile": {"image": "alpine:3"}},
        {"extraConf": "Weight=5"},
        {"ordinalPadding": 3},
        {"oversubscribeNode": True},
        {"ssh": {"enabled": True, **SSSD}},
        {"template": {"metadata": {"annotations": {"restartedAt": "now"}}}},
        {"template": {"spec": {"nodeSelector": {"node-role.kubernetes.io/gpu": ""}}}},
        {"template": {"spec": {"hostNetwork": False}}},
    ],
)
def test_what_pods_are_made_of_makes_a_revision(spec: dict[str, Any]) -> None:
    assert hash_of(nodeset(**spec)) != hash_of(nodeset())


@pytest.mark.parametrize(
    "spec",
    [
        {"replicas": 100},
        {"partition": {"enabled": True}},
        {"pinToNode": True},
        {"minReadySeconds": 5},
        {"revisionHistoryLimit": 5},
        {"metadata": {"labels": {"a": "b"}}},
        {"template": {"spec": {"tolerations": [], "affinity": {}, "priorityClassName": "", "volumes": None}}},
        {
            "template": {
                "metadata": {"labels": {"helm.sh/chart": "slurm-2", "app.kubernetes.io/version": "2"}}
            }
        },
        {"template": {"metadata": {"labels": None}}},
    ],
)
def test_what_running_pods_need_not_know_makes_none(spec: dict[str, Any]) -> None:
    assert hash_of(nodeset(**spec)) == hash_of(nodeset())


def test_a_collision_gives_another_name_to_the_same_content() -> None:
    assert hash_of(nodeset(), collisions=1) != hash_of(nodeset())


def test_a_revision_is_spelt_as_go_spells_it() -> None:
    given = nodeset(extraConf="Weight=<1&2>")
    assert text(given).startswith('{"spec":{"extraConf":"Weight=\\u003c1\\u00262\\u003e","ordinalPadding":0,')


def test_a_revision_is_found_by_the_labels_of_its_nodeset() -> None:
    digest = hash_of(nodeset())
    made = build(nodeset(), 1, digest)
    assert made["metadata"]["name"] == f"gpu-{digest}"
    assert set(digest) <= set("bcdfghjklmnpqrstvwxz2456789")
    assert {
        "app.kubernetes.io/name": "slurmd",
        "app.kubernetes.io/instance": "gpu",
        "controller.kubernetes.io/hash": digest,
    }.items() <= made["metadata"]["labels"].items()


@pytest.mark.parametrize(
    ("revision", "annotations", "old"),
    [
        ("new", {KEY: "k1"}, False),
        ("old", {KEY: "k1"}, True),
        ("new", {KEY: "k0"}, True),
        ("new", {}, False),
    ],
    ids=["as wanted", "another revision", "another key", "started by upstream"],
)
def test_a_pod_is_old_by_its_revision_or_by_what_it_has_read(
    revision: str, annotations: dict[str, str], old: bool
) -> None:
    labels = {"controller.kubernetes.io/hash": revision}
    assert outdated(labels, annotations, "new", {KEY: "k1"}) is old
