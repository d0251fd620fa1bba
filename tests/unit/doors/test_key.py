"""The signing key follows its Secret, and outlives an outage of Kubernetes."""

import base64
from typing import Any, cast

import pytest

from slurmery.doors.key import KeySecret
from slurmery.kube.client import Client
from slurmery.kube.errors import NoAnswerError
from slurmery.kube.meta import Key, Resource
from slurmery.slurm.errors import TokenError


class Kubernetes:
    """Holds one Secret."""

    def __init__(self, key: bytes | None) -> None:
        self.data = {} if key is None else {"rest_jwt.key": base64.b64encode(key).decode()}
        self.down = False
        self.asked: list[Key] = []

    async def get(self, _: Resource, key: Key, *, as_: type[Any]) -> Any:
        self.asked.append(key)
        if self.down:
            raise NoAnswerError("nobody there")
        return as_(data=self.data)


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def key_secret(kubernetes: Kubernetes, clock: Clock) -> KeySecret:
    return KeySecret(cast("Client", kubernetes), "slurm", "lab", clock)


async def test_the_secret_of_the_cluster_is_read() -> None:
    kubernetes = Kubernetes(b"first")

    assert await key_secret(kubernetes, Clock())() == b"first"
    assert kubernetes.asked == [Key("slurm", "lab-rest-jwt-key")]


async def test_a_new_key_is_used_soon_but_not_asked_for_with_every_request() -> None:
    kubernetes, clock = Kubernetes(b"first"), Clock()
    key = key_secret(kubernetes, clock)
    await key()
    kubernetes.data = Kubernetes(b"second").data

    assert await key() == b"first"
    clock.now += 11
    assert await key() == b"second"
    assert len(kubernetes.asked) == 2


async def test_without_kubernetes_the_last_key_is_used() -> None:
    kubernetes, clock = Kubernetes(b"first"), Clock()
    key = key_secret(kubernetes, clock)
    await key()
    kubernetes.down = True
    clock.now += 3600

    assert await key() == b"first"


@pytest.mark.parametrize("down", [True, False])
async def test_no_key_at_all_is_said_in_words(down: bool) -> None:
    kubernetes = Kubernetes(None)
    kubernetes.down = down

    with pytest.raises(TokenError, match="slurm/lab-rest-jwt-key"):
        await key_secret(kubernetes, Clock())()
