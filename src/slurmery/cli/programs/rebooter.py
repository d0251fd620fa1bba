"""`slurmery rebooter`: drains and reboots the node that it runs on, when asked by conditions."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial

from slurmery.agents.rebooter.host import Machine, Rehearsal
from slurmery.agents.rebooter.program import Rebooter
from slurmery.cli import process
from slurmery.cli.settings.rebooter import RebooterSettings
from slurmery.kube.runtime import Runtime


def run(settings: RebooterSettings) -> None:
    """Look after the node until told to stop."""
    process.run(settings, partial(_wired, settings), sync=settings.cache_sync_timeout)


@asynccontextmanager
async def _wired(settings: RebooterSettings, runtime: Runtime) -> AsyncIterator[None]:
    host = Rehearsal(Machine()) if settings.dry_run else Machine()
    Rebooter(settings.node_name, host, settings.reconcile_timeout.total_seconds()).wire(runtime)
    yield
