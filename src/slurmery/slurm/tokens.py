"""Tokens for slurmrestd: signed with the cluster's key, fetched with `scontrol token`, or given.

They are kept for less than their life and are never logged: no error, repr or log line holds one.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import time
from collections.abc import Awaitable, Callable
from typing import Final, Protocol

import msgspec

from slurmery.slurm.errors import TokenError

# A token is replaced when this part of its life is over.
_USED_PART: Final = 0.8
_SCONTROL_SECONDS: Final = 30.0


class TokenSource(Protocol):
    """Where the client gets the token for each request; an empty token is not sent."""

    async def token(self) -> str: ...


class StaticToken:
    """One token for ever, as an administrator gave it."""

    def __init__(self, token: str) -> None:
        self._token = _checked(token.strip()) if token.strip() else ""

    async def token(self) -> str:
        return self._token


class SignedTokens:
    """Tokens that we sign. The key is asked for each time, so that a new key is used at once.

    `key` raises TokenError where there is none; anything else it raises ends the poller that asked.
    """

    def __init__(
        self,
        key: Callable[[], Awaitable[bytes]],
        *,
        user: str = "slurm",
        life: float = 900.0,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._key = key
        self._user = user
        self._life = life
        self._clock = clock
        self._signed_with = b""
        self._token = ""
        self._renew_at = 0.0

    async def token(self) -> str:
        key = await self._key()
        now = self._clock()
        # The second test is for a clock that was set back: the token would be from the future.
        fresh = self._renew_at - self._life * _USED_PART <= now < self._renew_at
        if not fresh or not hmac.compare_digest(key, self._signed_with):
            self._token = sign(key, user=self._user, issued=int(now), life=int(self._life))
            self._signed_with = key
            self._renew_at = now + self._life * _USED_PART
        return self._token


class ScontrolTokens:
    """Tokens from `scontrol token`, for programs that run next to Slurm and have no key."""

    def __init__(
        self,
        *,
        scontrol: str = "scontrol",
        user: str = "",
        life: float = 1800.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._command = [scontrol, "token", f"lifespan={int(life)}", *([f"username={user}"] if user else [])]
        self._life = life
        self._clock = clock
        self._token = ""
        self._renew_at = 0.0
        self._lock = asyncio.Lock()

    async def token(self) -> str:
        async with self._lock:
            if not self._token or self._clock() >= self._renew_at:
                asked = self._clock()
                self._token = await self._fetch()
                self._renew_at = asked + self._life * _USED_PART
            return self._token

    async def _fetch(self) -> str:
        code, out, complaint = await _output(self._command)
        lines = out.decode(errors="replace").splitlines()
        tokens = [line.removeprefix("SLURM_JWT=") for line in lines if line.startswith("SLURM_JWT=")]
        if code != 0 or not tokens:
            said = complaint.decode(errors="replace").strip()[:300]
            raise TokenError(f"`scontrol token` gave no token (exit code {code}): {said}")
        return _checked(tokens[0].strip())


def sign(key: bytes, *, user: str, issued: int, life: int) -> str:
    """A token as `scontrol token` makes it: HS256 over exp, iat and sun.

    Signed by hand because Slurm takes any bytes for a key, also the PEM files of its older manuals, which JWT
    libraries refuse for HS256.
    """
    if not key:
        raise TokenError("the key to sign tokens with is empty")
    head = _part({"alg": "HS256", "typ": "JWT"})
    claims = _part({"exp": issued + life, "iat": issued, "sun": user})
    signature = hmac.new(key, f"{head}.{claims}".encode(), hashlib.sha256).digest()
    return f"{head}.{claims}.{_base64url(signature)}"


def _part(content: dict[str, str | int]) -> str:
    return _base64url(msgspec.json.encode(content))


def _base64url(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()


def _checked(token: str) -> str:
    if not token or not token.isascii() or not token.isprintable() or " " in token:
        raise TokenError("the token is empty or holds characters that no token has")
    return token


async def _output(command: list[str]) -> tuple[int, bytes, bytes]:
    try:
        process = await asyncio.create_subprocess_exec(
            *command,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
    except OSError as error:
        raise TokenError(f"cannot run {command[0]}: {error.strerror}") from None
    try:
        async with asyncio.timeout(_SCONTROL_SECONDS):
            out, complaint = await process.communicate()
    except TimeoutError:
        raise TokenError(f"`scontrol token` took longer than {_SCONTROL_SECONDS:g} s") from None
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    return process.returncode or 0, out, complaint
