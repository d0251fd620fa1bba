"""`slurmery power-manager`: what Slurm calls to power nodes up and down."""

from slurmery.cli.settings.power import PowerManagerSettings
from slurmery.kube.logs import logger

log = logger("power-manager")


def run(settings: PowerManagerSettings) -> int:
    """Fail, so that Slurm does not take the nodes for powered."""
    log.error(
        "Nothing was done: this version cannot power nodes", action=settings.action, nodes=settings.nodes
    )
    return 1
