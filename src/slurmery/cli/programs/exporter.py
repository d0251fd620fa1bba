"""`slurmery exporter`: Slurm's state as metrics for Prometheus."""

from slurmery.cli.settings.exporter import ExporterSettings
from slurmery.exporter import program


def run(settings: ExporterSettings) -> None:
    """Collect and serve until told to stop."""
    program.run(settings)
