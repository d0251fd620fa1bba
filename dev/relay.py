"""Carries connections from a socket that listens outside the sandbox to a server inside it.

    python -m dev.relay LISTENER HOST PORT

A socket keeps the network namespace it was opened in, so the inherited LISTENER still listens on the
machine's loopback while this process, and all it connects to, is inside.
"""

import asyncio
import contextlib
import socket
import sys

CHUNK = 1 << 16


async def main(listener: str, host: str, port: str) -> None:
    async def carry(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError), contextlib.closing(writer):
            inner_reader, inner_writer = await asyncio.open_connection(host, int(port))
            with contextlib.closing(inner_writer):
                await asyncio.gather(_pump(reader, inner_writer), _pump(inner_reader, writer))

    server = await asyncio.start_server(carry, sock=socket.socket(fileno=int(listener)))
    await server.serve_forever()


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(CHUNK):
        writer.write(data)
        await writer.drain()
    # One side may stop talking and still listen; TLS closes are seen by both ends.
    with contextlib.suppress(OSError):
        writer.write_eof()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
