"""The key that tokens are signed with, from the Secret that belongs to the cluster."""

from __future__ import annotations

import base64
import binascii
import time
from collections.abc import Callable
from typing import Final

import msgspec

from slurmery.kube.client import Client
from slurmery.kube.errors import KubeError
from slurmery.kube.meta import Key
from slurmery.kube.resources import SECRETS
from slurmery.slurm.errors import TokenError

_FIELD: Final = "rest_jwt.key"
# All requests of one collection come within it, and a new key is used soon after.
_KEPT_SECONDS: Final = 10.0


class _Secret(msgspec.Struct):
    data: dict[str, str] = {}


class KeySecret:
    """Reads the key. While Kubernetes gives no answer, the last one is as good as any."""

    def __init__(
        self, client: Client, namespace: str, cluster: str, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._client = client
        self._name = Key(namespace, f"{cluster}-rest-jwt-key")
        self._field = _FIELD
        self._clock = clock
        self._key = b""
        self._read_at = 0.0

    @classmethod
    def of(cls, client: Client, secret: Key, field: str) -> KeySecret:
        """The key in a Secret of any other name."""
        source = cls(client, secret.namespace, "")
        source._name, source._field = secret, field
        return source

    async def __call__(self) -> bytes:
        if not self._key or self._clock() - self._read_at >= _KEPT_SECONDS:
            try:
                self._key = await self._read()
            except KubeError as error:
                if not self._key:
                    raise TokenError(f"cannot read Secret {self._name}: {error}") from None
            self._read_at = self._clock()
        return self._key

    async def _read(self) -> bytes:
        secret = await self._client.get(SECRETS, self._name, as_=_Secret)
        try:
            return base64.b64decode(secret.data[self._field], validate=True)
        except (KeyError, binascii.Error):
            raise TokenError(f"Secret {self._name} holds no {self._field}") from None
