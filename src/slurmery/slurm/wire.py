"""HTTP/1.1 as slurmrestd speaks it: one request, one connection, one answer.

aiohttp cannot be used here. slurmrestd 26.05 answers each failure twice on one connection, and both 24.11 and
26.05 append a stray header after the body when asked to close; aiohttp then throws the good answer away. This
reader takes the first answer by its length and hangs up.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Final
from urllib.parse import urlsplit

from slurmery.slurm.errors import GarbledError, UnreachableError

_CONNECT_SECONDS: Final = 5.0
_PIECE: Final = 1 << 18
_NO_BODY: Final = frozenset({HTTPStatus.NO_CONTENT, HTTPStatus.NOT_MODIFIED})


@dataclass(frozen=True)
class Request:
    """What goes out; `target` is the percent-encoded path with its query."""

    method: str
    target: str
    headers: Mapping[str, str] = field(repr=False)  # they hold the token
    body: bytes = b""


@dataclass(frozen=True)
class Reply:
    """What came in."""

    status: int
    body: bytearray


class Address:
    """Where a slurmrestd listens, from its URL."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            raise ValueError(f"not an http or https URL: {url!r}")
        self.secure = parts.scheme == "https"
        self.host = parts.hostname
        self.port = parts.port or (443 if self.secure else 80)
        self.netloc = parts.netloc.rpartition("@")[2]
        self.prefix = parts.path.rstrip("/")


async def exchange(address: Address, request: Request, max_body: int) -> Reply:
    """Send and receive; raises UnreachableError or GarbledError."""
    reader, writer = await _connect(address)
    try:
        writer.write(_head(address, request) + request.body)
        await writer.drain()
        return await _reply(reader, max_body)
    except (OSError, EOFError) as error:
        raise UnreachableError(f"slurmrestd's answer broke off: {_cause(error)}") from None
    except (ValueError, asyncio.LimitOverrunError):
        raise GarbledError("the answer is not HTTP") from None
    finally:
        writer.transport.abort()


async def _connect(address: Address) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    try:
        async with asyncio.timeout(_CONNECT_SECONDS):
            return await asyncio.open_connection(
                address.host, address.port, ssl=address.secure or None, limit=_PIECE
            )
    except (OSError, UnicodeError) as error:  # a host name that cannot be one is a UnicodeError
        where = f"{address.host}:{address.port}"
        raise UnreachableError(
            f"cannot connect to slurmrestd at {where}: {_cause(error)}", sent=False
        ) from None


def _head(address: Address, request: Request) -> bytes:
    lines = [f"{request.method} {address.prefix}{request.target} HTTP/1.1", f"Host: {address.netloc}"]
    lines += [f"{name}: {value}" for name, value in request.headers.items()]
    lines += [f"Content-Length: {len(request.body)}"] if request.body else []
    return "\r\n".join([*lines, "Connection: close", "", ""]).encode("latin-1")


async def _reply(reader: asyncio.StreamReader, max_body: int) -> Reply:
    status = 100
    while status < 200:
        lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        protocol, code, *_ = lines[0].split(" ", 2)
        if not protocol.startswith("HTTP/1."):
            raise ValueError(protocol)
        status = int(code)
    headers = {
        name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines[1:])
    }
    return Reply(status, bytearray() if status in _NO_BODY else await _body(reader, headers, max_body))


async def _body(reader: asyncio.StreamReader, headers: Mapping[str, str], max_body: int) -> bytearray:
    body = bytearray()
    if headers.get("transfer-encoding", "").lower() == "chunked":
        while size := int((await reader.readline()).partition(b";")[0], 16):
            await _fill(reader, body, size, max_body)
            await reader.readexactly(2)
    elif "content-length" in headers:
        await _fill(reader, body, int(headers["content-length"]), max_body)
    else:
        while piece := await reader.read(_PIECE):
            body += piece
            _bound(body, 0, max_body)
    return body


async def _fill(reader: asyncio.StreamReader, body: bytearray, size: int, max_body: int) -> None:
    if size < 0:
        raise ValueError(size)
    _bound(body, size, max_body)
    end = len(body) + size
    while len(body) < end:
        piece = await reader.read(min(_PIECE, end - len(body)))
        if not piece:
            raise EOFError("closed early")
        body += piece


def _bound(body: bytearray, more: int, max_body: int) -> None:
    if len(body) + more > max_body:
        raise GarbledError(f"slurmrestd's answer is longer than {max_body} bytes")


def _cause(error: Exception) -> str:
    return (isinstance(error, OSError) and error.strerror) or type(error).__name__
