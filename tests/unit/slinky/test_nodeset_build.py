from typing import Any

import pytest

from slurmery.slinky.nodeset.build import ssh_config, worker_pdb, worker_service
from slurmery.slinky.nodeset.template import build, content_hashes
from tests.unit.slinky import golden
from tests.unit.slinky.sets import SSSD, nodeset, nodeset_world

SSH: dict[str, Any] = {"enabled": True, "extraSshdConfig": "LogLevel VERBOSE", **SSSD}
PAIR = [nodeset(metadata={"name": name, "uid": f"uid-{name}"}) for name in ("gpu", "cpu")]


def test_manifests_are_the_reviewed_ones() -> None:
    golden.check("nodeset-objects", [worker_service(PAIR), worker_pdb(PAIR), ssh_config(nodeset(ssh=SSH))])


def test_shared_objects_belong_to_all_nodesets_and_are_the_same_whoever_writes_them() -> None:
    for made in (worker_service, worker_pdb):
        assert made(PAIR) == made(PAIR[::-1])
        owners = made(PAIR)["metadata"]["ownerReferences"]
        assert [owner["name"] for owner in owners] == ["cpu", "gpu"]
        assert not any(owner.get("controller") for owner in owners)


def test_the_worker_service_selects_workers_of_its_cluster_only() -> None:
    selector = worker_service(PAIR)["spec"]["selector"]
    assert selector.items() <= build(nodeset(), nodeset_world())["metadata"]["labels"].items()
    other = nodeset(controllerRef={"name": "other"})
    assert not selector.items() <= build(other, nodeset_world())["metadata"]["labels"].items()


def test_no_busy_worker_may_be_evicted_however_many_replicas_are_wanted() -> None:
    assert worker_pdb(PAIR)["spec"] == {
        "minAvailable": 2147483647,
        "selector": {
            "matchLabels": {
                "nodeset.slinky.slurm.net/pod-protect": "true",
                "slinky.slurm.net/cluster": "slurm",
            }
        },
    }


@pytest.mark.parametrize(
    ("spec", "observed"),
    [
        ({"ssh": SSH}, {"slurm_key_hash": "k2"}),
        ({"ssh": SSH}, {"sssd_conf_hash": "s2"}),
        ({"ssh": SSH | {"extraSshdConfig": "LogLevel DEBUG"}}, {}),
    ],
)
def test_what_pods_read_at_their_start_is_hashed(spec: dict[str, Any], observed: dict[str, str]) -> None:
    before = content_hashes(nodeset(ssh=SSH), nodeset_world())
    assert content_hashes(nodeset(**spec), nodeset_world(**observed)) != before


def test_users_labels_do_not_take_the_place_of_ours() -> None:
    given = nodeset(
        metadata={"labels": {"app.kubernetes.io/name": "x", "a": "cr"}},
        template={"metadata": {"labels": {"slinky.slurm.net/cluster": "x", "a": "template"}}},
    )
    labels = build(given, nodeset_world())["metadata"]["labels"]
    assert labels["app.kubernetes.io/name"] == "slurmd"
    assert labels["slinky.slurm.net/cluster"] == "slurm"
    assert labels["a"] == "template"
