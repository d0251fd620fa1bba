"""`slurmery sconfigcontroller`: writes JailedConfigs into the jail and has Slurm read them."""

from slurmery.cli import process
from slurmery.cli.settings.sconfigcontroller import SconfigcontrollerSettings


def run(settings: SconfigcontrollerSettings) -> None:
    """Lead, or wait to; nothing is written yet."""
    process.run(settings, process.nothing_to_do, sync=settings.cache_sync_timeout)
