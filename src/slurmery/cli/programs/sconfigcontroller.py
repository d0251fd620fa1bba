"""`slurmery sconfigcontroller`: writes JailedConfigs into the jail and has Slurm read them."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial

from slurmery.agents.jail.program import Writer
from slurmery.agents.jail.reconfiguration import Pace
from slurmery.cli import process
from slurmery.cli.settings.sconfigcontroller import SconfigcontrollerSettings
from slurmery.kube.runtime import Runtime


def run(settings: SconfigcontrollerSettings) -> None:
    """Lead, or wait to; write until told to stop."""
    process.run(settings, partial(_wired, settings), sync=settings.cache_sync_timeout)


@asynccontextmanager
async def _wired(settings: SconfigcontrollerSettings, runtime: Runtime) -> AsyncIterator[None]:
    pace = Pace(
        settle=settings.settle_time.total_seconds(),
        poll=settings.reconfigure_poll_interval.total_seconds(),
        limit=settings.reconfigure_wait_timeout.total_seconds(),
    )
    Writer(
        settings.cluster_namespace,
        settings.cluster_name,
        settings.jail_path,
        settings.slurmapiserver,
        pace,
        workers=settings.max_concurrent_reconciles,
    ).wire(runtime)
    yield
