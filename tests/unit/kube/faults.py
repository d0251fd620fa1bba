"""A small API server that misbehaves as told, for faults that a real one cannot be made to show."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import msgspec
from aiohttp import web

from slurmery.kube.config import Config

Answer = Callable[[web.Request], Awaitable[web.StreamResponse]]


@dataclass
class FaultyServer:
    """Gives the scripted answers in turn, for ever the last, and remembers what it was asked."""

    config: Config
    answers: list[Answer] = field(default_factory=list)
    requests: list[web.Request] = field(default_factory=list)

    def script(self, *answers: Answer) -> None:
        self.answers[:] = answers

    async def handle(self, request: web.Request) -> web.StreamResponse:
        await request.read()
        self.requests.append(request)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        return await answer(request)


@asynccontextmanager
async def faulty_server() -> AsyncIterator[FaultyServer]:
    application = web.Application()
    runner = web.AppRunner(application, access_log=None, shutdown_timeout=0.01)
    server = FaultyServer(Config(""))
    application.router.add_route("*", "/{path:.*}", server.handle)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    host, port = runner.addresses[0][:2]
    server.config = Config(f"http://{host}:{port}")
    try:
        yield server
    finally:
        await runner.cleanup()


def says(body: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Answer:
    """An ordinary JSON answer."""

    async def answer(request: web.Request) -> web.StreamResponse:
        return web.Response(body=msgspec.json.encode(body), status=status, headers=headers)

    return answer


def refuses(status: int, reason: str, headers: Mapping[str, str] | None = None, **details: Any) -> Answer:
    """A Status, as the API server words its refusals."""
    return says(failure(status, reason, **details), status, headers)


def failure(status: int, reason: str, **details: Any) -> dict[str, Any]:
    return {
        "kind": "Status",
        "status": "Failure",
        "code": status,
        "reason": reason,
        "message": "no",
        "details": details,
    }


def listing(*items: Mapping[str, Any], version: str = "1") -> Answer:
    return says({"metadata": {"resourceVersion": version}, "items": items})


async def hangs_up(request: web.Request) -> web.StreamResponse:
    """No answer: the connection breaks."""
    assert request.transport is not None
    request.transport.abort()
    return web.Response()


async def freezes(request: web.Request) -> web.StreamResponse:
    """No answer: the connection stays open, in silence."""
    await asyncio.sleep(3600)
    return web.Response()


def streams(*parts: bytes | float, freeze: bool = False) -> Answer:
    """Bytes of a watch as given; a number is a pause. Then a clean end, or silence for ever."""

    async def answer(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        for part in parts:
            if isinstance(part, bytes):
                await response.write(part)
            else:
                await asyncio.sleep(part)
        if freeze:
            await asyncio.sleep(3600)
        return response

    return answer


def event(type_: str, object_: Mapping[str, Any]) -> bytes:
    return msgspec.json.encode({"type": type_, "object": object_}) + b"\n"


def thing(name: str, version: str = "1", **fields: Any) -> dict[str, Any]:
    return {"metadata": {"name": name, "namespace": "ns", "resourceVersion": version}, **fields}
