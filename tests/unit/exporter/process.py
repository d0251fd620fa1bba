"""The exporter as a process of its own."""

import asyncio
import signal
import socket
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import aiohttp

from tests.unit.exporter.parsed import Series, names, parsed

FLAGS = {
    "cluster_name": "lab",
    "cluster_namespace": "slurm",
    "collection_interval": "200ms",
    "log_level": "error",
}


class Exporter:
    """A running exporter."""

    def __init__(self, process: asyncio.subprocess.Process, port: int, own_port: int) -> None:
        self.process = process
        self.port = port
        self.own_port = own_port

    async def page(self, *wanted: str, seconds: float = 20) -> Series:
        """The first page that has these metrics."""
        async with asyncio.timeout(seconds), aiohttp.ClientSession() as session:
            while True:
                with suppress(aiohttp.ClientError):
                    async with session.get(f"http://127.0.0.1:{self.port}/metrics") as answer:
                        series = parsed(await answer.text())
                    if set(wanted) <= names(series):
                        return series
                await asyncio.sleep(0.05)

    async def stop(self) -> float:
        """How long it takes to end after SIGTERM."""
        begin = time.monotonic()
        self.process.send_signal(signal.SIGTERM)
        async with asyncio.timeout(20):
            await self.process.wait()
        return time.monotonic() - begin


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@asynccontextmanager
async def exporting(url: str, **settings: str | bool) -> AsyncIterator[Exporter]:
    """An exporter of this slurmrestd, standalone unless told otherwise; settings are flags."""
    ports = free_port(), free_port()
    addresses = {
        name: f"127.0.0.1:{port}"
        for name, port in zip(("metrics_bind_address", "monitoring_bind_address"), ports, strict=True)
    }
    given = {**FLAGS, **addresses, "slurm_api_server": url, "standalone": True, **settings}
    flags = [f"--{name.replace('_', '-')}={value}" for name, value in given.items()]
    process = await asyncio.create_subprocess_exec(sys.executable, "-m", "slurmery", "exporter", *flags)
    try:
        yield Exporter(process, *ports)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
