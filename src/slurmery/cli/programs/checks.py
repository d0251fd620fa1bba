"""`slurmery checks`: watches over nodes and runs ActiveChecks."""

from slurmery.cli import process
from slurmery.cli.settings.checks import ChecksSettings


def run(settings: ChecksSettings) -> None:
    """Lead, or wait to; there are no checks yet."""
    process.run(settings, process.nothing_to_do, sync=settings.cache_sync_timeout)
