"""Where the API server serves the kinds of this front door."""

from typing import Final

from slurmery.api import nebius
from slurmery.doors.views import resource

SLURM_CLUSTERS: Final = resource(nebius.SlurmCluster)
NODE_SETS: Final = resource(nebius.NodeSet)
POWER_STATES: Final = resource(nebius.NodeSetPowerState)
