"""A way to the API server that can be blocked, cut, or made to swallow what it should carry."""

import asyncio
import contextlib
import dataclasses
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass

from slurmery.kube.config import Config


@dataclass(eq=False)
class Connection:
    """Both ends of one connection, and whether it has gone silent."""

    ends: tuple[asyncio.StreamWriter, asyncio.StreamWriter]
    frozen: bool = False

    def cut(self) -> None:
        for end in self.ends:
            end.transport.abort()


class Relay:
    """Carries TCP connections to the server of a config, as well as the test wants."""

    def __init__(self, direct: Config) -> None:
        self.swallowed = 0
        self._direct = direct
        self._port = 0
        self._open: set[Connection] = set()
        self._blocked = False

    @property
    def config(self) -> Config:
        """How to reach the server through the relay."""
        here = f"https://127.0.0.1:{self._port}"
        return dataclasses.replace(self._direct, server=here, tls_server_name="localhost")

    def freeze(self) -> None:
        """All that is connected now stays so, in silence, for ever; new connections work."""
        for connection in self._open:
            connection.frozen = True

    @contextlib.contextmanager
    def outage(self) -> Iterator[None]:
        """Cut all connections and let none through for a while."""
        self._blocked = True
        for connection in self._open:
            connection.cut()
        yield
        self._blocked = False

    @contextlib.asynccontextmanager
    async def listening(self) -> AsyncIterator["Relay"]:
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self._port = server.sockets[0].getsockname()[1]
        try:
            yield self
        finally:
            server.close()
            with self.outage():
                while self._open:  # noqa: ASYNC110 - each ends by itself once it is cut
                    await asyncio.sleep(0.01)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        host, port = self._direct.server.removeprefix("https://").split(":")
        try:
            far_reader, far_writer = await asyncio.open_connection(host, int(port))
        except OSError:
            writer.transport.abort()
            return
        connection = Connection((writer, far_writer))
        if self._blocked:
            connection.cut()
            return
        self._open.add(connection)
        await asyncio.gather(
            self._carry(connection, reader, far_writer), self._carry(connection, far_reader, writer)
        )
        self._open.discard(connection)

    async def _carry(
        self, connection: Connection, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        with contextlib.suppress(OSError):
            while data := await reader.read(65_536):
                if connection.frozen:
                    self.swallowed += len(data)
                else:
                    writer.write(data)
        connection.cut()
