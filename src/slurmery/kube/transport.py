"""One HTTP exchange with the API server: identity, TLS, proxy, errors. No verbs, no retries."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import aiohttp
from aiohttp.abc import AbstractStreamWriter

from slurmery.kube.config import Config
from slurmery.kube.credentials import ClientCertificate, Credential
from slurmery.kube.errors import KubeError, NoAnswerError, from_answer
from slurmery.kube.tracing import call as traced

CONNECT_SECONDS = 10.0
JSON = "application/json"

# Called after each exchange with HTTP method, plural, status code (or "<error>") and seconds.
Observe = Callable[[str, str, str, float], None]


def unfenced() -> None:
    """Whoever asks may write."""


def unobserved(method: str, resource: str, code: str, seconds: float) -> None:
    """Take no notice."""


@dataclass(frozen=True)
class Call:
    """A request as it goes out. `resource` is for the metrics only."""

    method: str
    path: str
    params: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = None
    content_type: str = JSON
    accept: str = JSON
    resource: str = ""


class Transport:
    """Connections to one API server. Use as an async context manager."""

    def __init__(
        self, config: Config, *, user_agent: str, observe: Observe, fence: Callable[[], None] = unfenced
    ) -> None:
        self._config = config
        self._observe = observe
        self._fence = fence
        # As Go's transport does: a long list comes as two HTTP chunks per object, or a few when compressed.
        self._headers = [("User-Agent", user_agent), ("Accept-Encoding", "gzip"), *config.headers]
        self._tls: tuple[ClientCertificate | None, ssl.SSLContext] | None = None
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Transport:
        # No limit here: every watch holds a connection for itself, and the client bounds the rest.
        connector = aiohttp.TCPConnector(limit=0, keepalive_timeout=60)
        self._session = aiohttp.ClientSession(connector=connector, cookie_jar=aiohttp.DummyCookieJar())
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._session is not None:
            await self._session.close()

    @asynccontextmanager
    async def exchange(
        self, call: Call, *, total: float | None = None, silence: float | None = None
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        """The answer to a call, if it is a good one; otherwise the error that says why not.

        It may take `total` seconds in all, and the server may be silent for `silence` seconds at a time.
        A 401 makes the credentials renew themselves and the call go out once more.
        """
        limits = aiohttp.ClientTimeout(total=total, connect=CONNECT_SECONDS, sock_read=silence)
        credential = await self._config.credentials.get()
        try:
            response = await self._send(call, credential, limits)
            if response.status == 401 and self._config.credentials.reject(credential):
                response.release()
                response = await self._send(call, await self._config.credentials.get(), limits)
            async with response:
                if response.status >= 400:
                    body = await response.read()
                    raise from_answer(response.status, body, retry_after=response.headers.get("Retry-After"))
                yield response
        except (aiohttp.ClientError, TimeoutError) as error:
            if isinstance(error.__cause__, KubeError):
                raise error.__cause__ from None  # the fence's own word
            words = str(error) or f"no answer within {silence or total:g} s"
            raise NoAnswerError(f"{call.method} {self._config.server}{call.path}: {words}") from error

    async def _send(
        self, call: Call, credential: Credential, limits: aiohttp.ClientTimeout
    ) -> aiohttp.ClientResponse:
        if self._session is None:
            raise RuntimeError("the client is used outside its `async with`")
        headers = [*self._headers, ("Accept", call.accept)]
        if credential.authorization:
            headers.append(("Authorization", credential.authorization))
        if call.body is not None:
            headers.append(("Content-Type", call.content_type))
        loop = asyncio.get_running_loop()
        begin, code = loop.time(), "<error>"
        try:
            with traced(f"{call.method} {call.resource or call.path}") as span:
                response = await self._session.request(
                    call.method,
                    self._config.server + call.path,
                    params=call.params,
                    data=None if call.method == "GET" else _Write(call.body or b"", self._fence),
                    headers=headers,
                    ssl=self._context(credential.certificate),
                    server_hostname=self._config.tls_server_name,
                    proxy=self._config.proxy,
                    timeout=limits,
                    allow_redirects=False,
                )
                code = str(response.status)
                span.set_attribute("http.response.status_code", response.status)
        finally:
            self._observe(call.method, call.resource, code, loop.time() - begin)
        return response

    def _context(self, certificate: ClientCertificate | None) -> ssl.SSLContext:
        if self._tls is None or self._tls[0] != certificate:
            self._tls = certificate, self._config.tls(certificate)
        return self._tls[1]


class _Write(aiohttp.BytesPayload):
    """A body that asks the fence, which raises when this process may not write, before it goes out.

    aiohttp sends it together with the headers, in one piece: between the answer and the system call there is
    no wait, for a connection say, that could be longer than the lease has left.
    """

    def __init__(self, body: bytes, fence: Callable[[], None]) -> None:
        super().__init__(body)
        self._fence = fence

    async def write_with_length(self, writer: AbstractStreamWriter, content_length: int | None) -> None:
        self._fence()
        await super().write_with_length(writer, content_length)
