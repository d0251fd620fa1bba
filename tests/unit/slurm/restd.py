"""A slurmrestd that says what it is told to, also what a real one would say only on a bad day."""

import asyncio
import json
from collections import defaultdict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

Behaviour = Callable[[asyncio.StreamWriter], Awaitable[None]]

UNKNOWN_URL = b"Unable find requested URL. Please view /openapi/v3 for API reference."


def http(status: int, body: bytes, content_type: str = "application/json") -> bytes:
    head = (
        f"HTTP/1.1 {status} WHATEVER\r\nContent-Length: {len(body)}\r\nContent-Type: {content_type}\r\n\r\n"
    )
    return head.encode() + body


def answer(code: int = 200, /, **payload: object) -> bytes:
    return http(code, json.dumps({"errors": [], "warnings": [], **payload}).encode())


def failure(status: int, number: int, description: str = "Failure", error: str = "Slurm says no") -> bytes:
    problem = {"description": description, "error_number": number, "error": error, "source": "x"}
    return answer(status, errors=[problem])


async def hang(writer: asyncio.StreamWriter) -> None:
    await asyncio.sleep(3600)


@dataclass
class Seen:
    method: str
    target: str
    headers: dict[str, str]
    body: bytes


@dataclass
class Restd:
    """Replies by "METHOD target"; each is used once, the last for ever. Anything else is an unknown URL."""

    url: str = ""
    seen: list[Seen] = field(default_factory=list)
    replies: dict[str, list[bytes | Behaviour]] = field(default_factory=lambda: defaultdict(list))

    def on(self, call: str, *replies: bytes | Behaviour) -> None:
        self.replies[call] = list(replies)

    @property
    def calls(self) -> list[str]:
        return [f"{seen.method} {seen.target}" for seen in self.seen]

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            request = await self._request(reader)
            self.seen.append(request)
            reply = self._reply(f"{request.method} {request.target}")
            if isinstance(reply, bytes):
                writer.write(reply)
                await writer.drain()
            else:
                await reply(writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    def _reply(self, call: str) -> bytes | Behaviour:
        waiting = self.replies[call]
        if not waiting:
            return http(404, UNKNOWN_URL, "text/plain")
        return waiting.pop(0) if len(waiting) > 1 else waiting[0]

    async def _request(self, reader: asyncio.StreamReader) -> Seen:
        first, *lines = (await reader.readuntil(b"\r\n\r\n")).decode().strip().split("\r\n")
        method, target, _ = first.split(" ")
        headers = dict(line.split(": ", 1) for line in lines)
        return Seen(method, target, headers, await reader.readexactly(int(headers.get("Content-Length", 0))))
