"""The workers' data, with a real API server."""

import pytest

from slurmery.kube.resources import PERSISTENT_VOLUME_CLAIMS, PODS

from .stage import Stage, until

pytestmark = pytest.mark.usefixtures("operator")

DATA = [
    {
        "metadata": {"name": "data"},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
    }
]


async def owned(stage: Stage, *owners: str) -> None:
    """Wait until the first worker's claim belongs to these kinds."""

    async def look() -> bool:
        claim = await stage.get(PERSISTENT_VOLUME_CLAIMS, "data-gpu-0")
        references = claim["metadata"].get("ownerReferences", ()) if claim else ()
        return claim is not None and [each["kind"] for each in references] == list(owners)

    await until(look)


async def test_claims_follow_a_changed_policy(stage: Stage) -> None:
    await stage.cluster()
    await stage.nodeset(1, volumeClaimTemplates=DATA)
    await stage.there("gpu-0")
    await owned(stage)
    await stage.change(persistentVolumeClaimRetentionPolicy={"whenDeleted": "Delete"})
    await owned(stage, "NodeSet")
    await stage.change(persistentVolumeClaimRetentionPolicy={"whenDeleted": "Retain"})
    await owned(stage)


async def test_an_update_keeps_the_data_of_a_worker_that_upstream_was_about_to_replace(stage: Stage) -> None:
    await stage.cluster()
    policy = {"whenScaled": "Delete"}
    await stage.nodeset(1, volumeClaimTemplates=DATA, persistentVolumeClaimRetentionPolicy=policy)
    pod = (await stage.there("gpu-0"))["gpu-0"]["metadata"]
    before = await stage.get(PERSISTENT_VOLUME_CLAIMS, "data-gpu-0")
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "gpu-0", "uid": pod["uid"], "controller": True}
    await stage.patch(PERSISTENT_VOLUME_CLAIMS, "data-gpu-0", {"metadata": {"ownerReferences": [owner]}})
    await stage.run("gpu-0")
    await owned(stage)
    await stage.change(extraConf="Weight=2")
    await stage.gone_or_new(PODS, "gpu-0", pod["uid"])

    after = await stage.get(PERSISTENT_VOLUME_CLAIMS, "data-gpu-0")
    assert before
    assert after
    assert after["metadata"]["uid"] == before["metadata"]["uid"]
