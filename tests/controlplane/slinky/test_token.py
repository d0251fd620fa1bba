"""Tokens on a real API server."""

import base64
import time

import pytest

from slurmery.kube import config
from slurmery.kube.client import Client
from slurmery.kube.resources import SECRETS
from slurmery.slinky.kinds import TOKENS
from slurmery.slinky.token import jwt

from .scene import KEYS, Operator, Scene, all_owned_by, until

SPEC = {"jwtKeyRef": KEYS["jwtKeyRef"], "username": "alice"}


async def claims(scene: Scene, key: str) -> jwt.Claims | None:
    [secret] = await scene.exists(SECRETS, "key-jwt-alice")
    return jwt.verified(key.encode(), base64.b64decode(secret["data"]["SLURM_JWT"]).decode())


async def test_a_token_is_issued_into_a_secret_that_it_owns(scene: Scene, operator: Operator) -> None:
    await scene.secret("keys", jwt_key="first")
    await scene.create(TOKENS, "key", SPEC)
    assert all_owned_by(await scene.exists(SECRETS, "key-jwt-alice"), "Token", "key")
    issued = await claims(scene, "first")
    assert issued
    assert issued.user == "alice"
    await scene.says(TOKENS, "key", "Ready", "True")
    assert "alice" in scene.kubectl("get", "token", "key")


async def test_a_token_is_refreshed_before_it_expires(scene: Scene, operator: Operator) -> None:
    await scene.secret("keys", jwt_key="first")
    await scene.create(TOKENS, "key", {**SPEC, "lifetime": "5s"})
    before = await claims(scene, "first")

    async def refreshed() -> bool:
        return await claims(scene, "first") != before

    await until(refreshed, seconds=10)


async def test_a_token_recovers_from_a_changed_key(scene: Scene, operator: Operator) -> None:
    await scene.secret("keys", jwt_key="first")
    await scene.create(TOKENS, "key", SPEC)
    assert await claims(scene, "first")
    await scene.secret("keys", jwt_key="second")

    async def recovered() -> bool:
        return await claims(scene, "second") is not None

    await until(recovered)


async def test_a_token_waits_for_its_key(scene: Scene, operator: Operator) -> None:
    await scene.create(TOKENS, "key", SPEC)
    await scene.says(TOKENS, "key", "Ready", "False", "Secret keys")
    await scene.secret("keys", jwt_key="first")
    assert await claims(scene, "first")


async def test_a_token_leaves_somebody_elses_secret_alone_and_takes_its_place_when_it_is_gone(
    scene: Scene, operator: Operator
) -> None:
    await scene.secret("keys", jwt_key="first")
    await scene.secret("taken", password="precious")
    [before] = await scene.exists(SECRETS, "taken")
    await scene.create(TOKENS, "key", {**SPEC, "secretRef": {"name": "taken", "key": "token"}})
    await scene.says(TOKENS, "key", "Ready", "False", "belongs to somebody else")
    assert await scene.exists(SECRETS, "taken") == [before]
    await scene.delete(SECRETS, "taken")
    await scene.says(TOKENS, "key", "Ready", "True")
    [secret] = await scene.exists(SECRETS, "taken")
    assert set(secret["data"]) == {"token"}


@pytest.mark.parametrize("refresh", [True, False])
async def test_a_secret_of_upstreams_operator_becomes_the_tokens(
    scene: Scene, operator: Operator, *, refresh: bool
) -> None:
    await scene.secret("keys", jwt_key="first")
    await upstreams_secret(scene, user="alice", immutable=not refresh)
    await scene.create(TOKENS, "key", {**SPEC, "refresh": refresh})
    await scene.says(TOKENS, "key", "Ready", "True")
    [secret] = await scene.exists(SECRETS, "key-jwt-alice")
    assert all_owned_by([secret], "Token", "key")
    assert set(secret["data"]) == {"SLURM_JWT"}
    assert "upstream" not in secret["metadata"].get("annotations", {})
    assert await claims(scene, "first")


async def test_a_secret_of_the_keys_owner_for_another_user_is_left_alone(
    scene: Scene, operator: Operator
) -> None:
    await scene.secret("keys", jwt_key="first")
    await upstreams_secret(scene, user="bob")
    await scene.create(TOKENS, "key", SPEC)
    await scene.says(TOKENS, "key", "Ready", "False", "belongs to Secret keys")


async def upstreams_secret(scene: Scene, user: str, *, immutable: bool = False) -> None:
    """As upstream's operator writes it: by a plain create, owned by the Secret of the key."""
    [key] = await scene.exists(SECRETS, "keys")
    owner = {
        "apiVersion": "v1",
        "kind": "Secret",
        "name": "keys",
        "uid": key["metadata"]["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }
    now = int(time.time())
    token = jwt.sign(b"first", jwt.Claims(user, now, now + 900), "jti")
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {
            "name": "key-jwt-alice",
            "namespace": scene.namespace,
            "annotations": {"upstream": "true"},
            "ownerReferences": [owner],
        },
        "immutable": immutable,
        "stringData": {"SLURM_JWT": token, **({} if immutable else {"left-over": "x"})},
    }
    async with Client(config.load(scene.plane.kubeconfig), user_agent="manager/v0.0.0") as upstream:
        await upstream.create(SECRETS, secret)
