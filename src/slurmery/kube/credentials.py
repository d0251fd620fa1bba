"""Who we are to the API server: a fixed identity, or a token in a file that is replaced now and then.

Identities that a program hands out are in `execplugin`.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import NamedTuple, Protocol

from slurmery.kube.errors import ConfigError

TOKEN_AGE_SECONDS = 60.0


class ClientCertificate(NamedTuple):
    """A certificate and its key, as PEM."""

    certificate: str
    key: str


class Credential(NamedTuple):
    """What one request carries. An anonymous request carries neither."""

    authorization: str | None = None
    certificate: ClientCertificate | None = None


class Credentials(Protocol):
    """A source of credentials that stay valid while it is asked anew for each request."""

    async def get(self) -> Credential: ...

    def reject(self, credential: Credential) -> bool:
        """The API server answered 401 to this one. True if the next `get` may bring a better one."""
        ...


class Fixed:
    """Credentials that never change."""

    def __init__(self, credential: Credential) -> None:
        self._credential = credential

    async def get(self) -> Credential:
        return self._credential

    def reject(self, credential: Credential) -> bool:  # noqa: ARG002
        return False


class TokenFile:
    """A bearer token that the kubelet renews in place, read again every minute and after a 401."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._credential: Credential | None = None
        self._read_at = 0.0

    async def get(self) -> Credential:
        now = asyncio.get_running_loop().time()
        if self._credential is None or now - self._read_at > TOKEN_AGE_SECONDS:
            self._credential = self._read()
            self._read_at = now
        return self._credential

    def reject(self, credential: Credential) -> bool:
        self._credential = None
        return self._read() != credential

    def _read(self) -> Credential:
        try:
            token = self._path.read_text().strip()
        except OSError as error:
            raise ConfigError(f"cannot read the bearer token: {error}") from error
        if not token:
            raise ConfigError(f"the bearer token file {self._path} is empty")
        return Credential(authorization=f"Bearer {token}")
