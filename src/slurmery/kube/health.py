"""Small HTTP servers for the kubelet and for Prometheus: /healthz, /readyz, /metrics."""

import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import NamedTuple

from aiohttp import web

from slurmery.kube import metrics
from slurmery.kube.authorize import Authorizer
from slurmery.kube.errors import KubeError

Handler = Callable[[web.Request], Awaitable[web.Response]]
# Answers with what is wrong, or None.
Check = Callable[[], str | None]


class Address(NamedTuple):
    """Where to listen; no host means everywhere."""

    host: str | None
    port: int

    @classmethod
    def parse(cls, text: str) -> "Address | None":
        """An address as Go programs write it: ":8080", "127.0.0.1:8080", "[::1]:8080"; "0" and "" are off."""
        if text in {"", "0"}:
            return None
        host, colon, port = text.rpartition(":")
        if not colon or not port.isdigit() or int(port) > 65535:
            raise ValueError(f"{text!r} is not an address like :8080 or 127.0.0.1:8080")
        return cls(host.removeprefix("[").removesuffix("]") or None, int(port))


@dataclass(frozen=True)
class Probes:
    """What the kubelet asks for. A failed check of `alive` restarts us; one of `ready` keeps traffic away."""

    alive: dict[str, Check] = field(default_factory=dict)
    ready: dict[str, Check] = field(default_factory=dict)

    def routes(self) -> dict[str, Handler]:
        return {"/healthz": _probe(self.alive), "/readyz": _probe(self.ready)}


def metrics_routes(authorizer: Authorizer | None = None) -> dict[str, Handler]:
    """The scrape; with an authorizer, only for those who may."""

    async def scrape(request: web.Request) -> web.Response:
        if authorizer:
            verdict = await _verdict(authorizer, request)
            if verdict != HTTPStatus.OK:
                return web.Response(status=verdict, text=verdict.phrase)
        return web.Response(body=metrics.render(), headers={"Content-Type": metrics.CONTENT_TYPE})

    return {"/metrics": scrape}


@asynccontextmanager
async def serve(
    address: Address, routes: dict[str, Handler], *, tls: ssl.SSLContext | None = None
) -> AsyncIterator[int]:
    """Serve GET requests; yields the port, which matters if the address left it open."""
    app = web.Application()
    app.add_routes([web.get(path, handler) for path, handler in routes.items()])
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.5)
    await runner.setup()
    try:
        site = web.TCPSite(runner, address.host, address.port, ssl_context=tls)
        await site.start()
        yield runner.addresses[0][1]
    finally:
        await runner.cleanup()


def _probe(checks: dict[str, Check]) -> Handler:
    async def answer(_: web.Request) -> web.Response:
        wrong = {name: words for name, check in checks.items() if (words := check())}
        if wrong:
            lines = "".join(f"{name}: {words}\n" for name, words in wrong.items())
            return web.Response(status=HTTPStatus.SERVICE_UNAVAILABLE, text=lines)
        return web.Response(text="ok")

    return answer


async def _verdict(authorizer: Authorizer, request: web.Request) -> HTTPStatus:
    try:
        return await authorizer.verdict(request.headers.get("Authorization", ""), request.path)
    except KubeError:
        return HTTPStatus.SERVICE_UNAVAILABLE
