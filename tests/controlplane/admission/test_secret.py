"""Protected Secrets on a real API server."""

from slurmery.admission.secret import ANNOTATIONS, LABEL
from tests.controlplane.admission.world import Manifest, World
from tests.controlplane.api.nebius_specimens import NEW_CLUSTER


def protected(world: World, name: str, **annotations: str) -> Manifest:
    metadata = {
        "labels": {LABEL: "true"},
        "annotations": {
            key: annotations[short]
            for key, short in zip(ANNOTATIONS, ("a", "b"), strict=True)
            if short in annotations
        },
    }
    return world.manifest("v1", "Secret", name, metadata=metadata, stringData={"password": "x"})


def cluster(world: World, name: str, **metadata: object) -> Manifest:
    return world.manifest(
        "slurm.nebius.ai/v1", "SlurmCluster", name, metadata=metadata, spec=NEW_CLUSTER["spec"]
    )


async def test_a_protected_secret_must_name_its_cluster_by_either_annotation(guarded: World) -> None:
    assert "needs the annotation" in await guarded.refusal(protected(guarded, "none"))
    assert "needs the annotation" in await guarded.refusal(protected(guarded, "empty", a=""))
    assert await guarded.refusal(protected(guarded, "old", a="c")) == ""
    assert await guarded.refusal(protected(guarded, "new", b="c")) == ""


async def test_a_protected_secret_cannot_be_changed_nor_lose_its_protection(guarded: World) -> None:
    secret = protected(guarded, "s", a="c")
    await guarded.create(secret)

    assert "cannot be changed" in await guarded.change(secret, {"stringData": {"password": "y"}})
    assert "cannot be changed" in await guarded.change(secret, {"metadata": {"labels": {LABEL: None}}})
    assert "cannot be changed" in await guarded.change(secret, {"metadata": {"annotations": None}})


async def test_a_protected_secret_outlives_its_cluster(guarded: World) -> None:
    secrets = [protected(guarded, "old", a="c"), protected(guarded, "new", b="c")]
    owner = cluster(guarded, "c")
    await guarded.create(owner, *secrets)

    for secret in secrets:
        assert "delete SlurmCluster c first" in await guarded.removal(secret)
    assert await guarded.removal(owner) == ""
    for secret in secrets:
        assert await guarded.removal(secret) == ""


async def test_a_cluster_that_waits_for_its_secret_to_go_does_not_wait_for_ever(guarded: World) -> None:
    secret, owner = protected(guarded, "s", a="c"), cluster(guarded, "c", finalizers=["slurmery.test/wait"])
    await guarded.create(owner, secret)
    assert await guarded.removal(owner) == ""

    assert await guarded.removal(secret) == ""
    assert await guarded.change(owner, {"metadata": {"finalizers": None}}) == ""


async def test_a_protected_secret_on_its_way_out_lets_go_of_its_finalizer(guarded: World) -> None:
    secret = protected(guarded, "s", a="gone")
    secret["metadata"]["finalizers"] = ["slurmery.test/wait"]
    await guarded.create(secret)

    assert await guarded.removal(secret) == ""
    assert await guarded.change(secret, {"metadata": {"finalizers": None}}) == ""
    assert await guarded.refusal(secret) == ""


async def test_secrets_of_others_are_let_alone(guarded: World) -> None:
    secret = guarded.manifest("v1", "Secret", "plain", stringData={"a": "b"})
    await guarded.create(secret)

    assert await guarded.change(secret, {"stringData": {"a": "c"}}) == ""
    assert await guarded.removal(secret) == ""
