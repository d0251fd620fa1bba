"""`slurmery operator`: reconciles the clusters of both APIs."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial

from slurmery.cli import process
from slurmery.cli.settings.operator import OperatorSettings
from slurmery.cli.webhooks import webhooks
from slurmery.kube.runtime import Runtime


def run(settings: OperatorSettings) -> None:
    """Lead, or wait to, until told to stop."""
    process.run(settings, partial(_wired, settings), sync=settings.cache_sync_timeout)


@asynccontextmanager
async def _wired(settings: OperatorSettings, runtime: Runtime) -> AsyncIterator[None]:
    async with AsyncExitStack() as stack:
        if settings.enable_webhooks:
            await stack.enter_async_context(webhooks(settings, runtime))
        # The reconcilers of both front doors are added here.
        await stack.enter_async_context(process.nothing_to_do(runtime))
        yield
