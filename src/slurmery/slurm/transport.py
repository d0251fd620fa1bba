"""One call to slurmrestd: a deadline, repeats where they are safe, and a typed answer.

Repeats: a request that never left is always safe to repeat; one whose fate is unknown only if it reads. What
slurmrestd itself reports (slurmctld down, timed out) is not repeated: it has waited long enough already.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, TypeVar
from urllib.parse import urlencode

from slurmery.kube.backoff import Backoff
from slurmery.kube.tracing import call as traced
from slurmery.slurm import answers
from slurmery.slurm.errors import DeadlineError, TokenError, UnreachableError
from slurmery.slurm.tokens import TokenSource
from slurmery.slurm.wire import Address, Reply, Request, exchange

A = TypeVar("A", bound=answers.Answer)

REPEATS: Final = 3
MAX_BODY: Final = 1 << 30
_FIRST_PAUSE: Final = 0.5  # jitter halves it: 250 ms at least, 2 s at most
_LONGEST_PAUSE: Final = 2.0
# Smaller bodies are decoded faster than a thread is woken.
_THREAD_FROM: Final = 1 << 17
_PROXY_TROUBLE: Final = frozenset({429, 502, 503, 504})


@dataclass(frozen=True)
class Call:
    """A request; `path` is what follows the version, percent-encoded already."""

    method: str
    path: str
    deadline: float
    query: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    reads: bool = False
    api: str = "slurm"


class Transport:
    """The way to one slurmrestd."""

    def __init__(self, url: str, tokens: TokenSource, *, max_body: int = MAX_BODY) -> None:
        self._address = Address(url)
        self._tokens = tokens
        self._max_body = max_body

    async def send(self, call: Call, version: str, kind: type[A]) -> A | None:
        """The typed answer, or None if Slurm says that nothing changed."""
        try:
            async with asyncio.timeout(call.deadline):
                reply, token = await self._reply(call, version)
                if reply.status == 304:
                    return None
                if len(reply.body) < _THREAD_FROM:
                    return answers.read(reply.status, reply.body, kind, token)
                return await asyncio.to_thread(answers.read, reply.status, reply.body, kind, token)
        except TimeoutError:
            raise DeadlineError(f"slurmrestd did not answer within {call.deadline:g} s") from None

    async def _reply(self, call: Call, version: str) -> tuple[Reply, str]:
        backoff = Backoff(_FIRST_PAUSE, _LONGEST_PAUSE)
        for _ in range(REPEATS):
            try:
                return await self._attempt(call, version)
            except UnreachableError as error:
                if error.sent and not call.reads:
                    raise
            await asyncio.sleep(backoff.next())
        return await self._attempt(call, version)

    async def _attempt(self, call: Call, version: str) -> tuple[Reply, str]:
        token = await self._tokens.token()
        if not token.isprintable():
            raise TokenError("the token holds characters that no token has")
        target = f"/{call.api}/{version}/{call.path}" + (f"?{urlencode(call.query)}" if call.query else "")
        headers = {"Accept": "application/json"}
        headers |= {"X-SLURM-USER-TOKEN": token} if token else {}
        headers |= {"Content-Type": "application/json"} if call.body else {}
        request = Request(call.method, target, headers, call.body)
        with traced(f"{call.method} {call.api}/{call.path}") as span:
            reply = await exchange(self._address, request, self._max_body)
            span.set_attribute("http.response.status_code", reply.status)
        if reply.status in _PROXY_TROUBLE and not reply.body.lstrip().startswith(b"{"):
            raise UnreachableError(f"HTTP {reply.status} on the way to slurmrestd")
        return reply, token
