"""`slurmery exporter`: Slurm's state as metrics for Prometheus."""

import asyncio
import signal
from contextlib import AsyncExitStack

from aiohttp import web

from slurmery.cli.process import IDLE
from slurmery.cli.settings.exporter import ExporterSettings
from slurmery.kube.health import Address, Probes, metrics_routes, serve
from slurmery.kube.logs import logger

log = logger("exporter")


def run(settings: ExporterSettings) -> None:
    """Serve the pages; Slurm's figures are not on them yet."""
    asyncio.run(_serve(settings.metrics_bind_address, settings.monitoring_bind_address))


async def _serve(pages: Address | None, monitoring: Address | None) -> None:
    stopped = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stopped.set)
    async with AsyncExitStack() as stack:
        if pages:
            await stack.enter_async_context(serve(pages, metrics_routes() | {"/health": _healthy}))
        if monitoring:
            await stack.enter_async_context(serve(monitoring, metrics_routes() | Probes().routes()))
        log.warning(IDLE)
        await stopped.wait()


async def _healthy(_: web.Request) -> web.Response:
    return web.Response(text="healthy")
