"""`slurmery rebooter`: drains and reboots the node that it runs on, when asked by conditions."""

from slurmery.cli import process
from slurmery.cli.settings.rebooter import RebooterSettings


def run(settings: RebooterSettings) -> None:
    """Answer the kubelet; nothing is rebooted yet."""
    process.run(settings, process.nothing_to_do, sync=settings.cache_sync_timeout)
