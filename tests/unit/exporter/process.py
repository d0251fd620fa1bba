"""The exporter as a process of its own."""

import asyncio
import json
import signal
import socket
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import aiohttp

from tests.unit.exporter.parsed import Series, names, parsed

START = """
import json, sys
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from slurmery.exporter.program import run
from slurmery.kube.health import Address

@dataclass(frozen=True)
class Settings:
    metrics_port: int
    monitoring_port: int
    slurm_api_server: str
    cluster_name: str = "lab"
    cluster_namespace: str = "slurm"
    standalone: bool = True
    kubeconfig: str = ""
    static_token: str = ""
    scontrol_path: str = "scontrol"
    key_rotation_interval: timedelta = timedelta(minutes=30)
    collection_interval: timedelta = timedelta(seconds=0.2)
    max_collector_inflight: int = 1
    job_source: str = "controller"
    accounting_jobs_lookback: timedelta = timedelta(hours=1)

    @property
    def metrics_bind_address(self):
        return Address("127.0.0.1", self.metrics_port)

    @property
    def monitoring_bind_address(self):
        return Address("127.0.0.1", self.monitoring_port)

    @property
    def kubeconfig_path(self):
        return Path(self.kubeconfig) if self.kubeconfig else None

run(Settings(**json.loads(sys.argv[1])))
"""


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
    """An exporter of this slurmrestd, standalone unless told otherwise."""
    ports = {"metrics_port": free_port(), "monitoring_port": free_port()}
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", START, json.dumps({"slurm_api_server": url, **ports, **settings})),
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        yield Exporter(process, *ports.values())
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
