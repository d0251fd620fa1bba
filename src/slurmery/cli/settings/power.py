"""What `slurmery power-manager` can be told."""

from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import Annotated, Final

from slurmery.cli.flags import Flag
from slurmery.cli.settings.shared import CLUSTER, Kubeconfig, LogLevel, LogSettings
from slurmery.cli.values import Level

POWER: Final = "Power"


class Action(StrEnum):
    """What is wanted of the nodes."""

    RESUME = "resume"
    SUSPEND = "suspend"
    WAIT_ADDED = "wait-added"
    WAIT_REMOVED = "wait-removed"


@dataclass(frozen=True, kw_only=True)
class PowerManagerSettings(LogSettings):
    """What the power manager can be told."""

    namespace: Annotated[str, Flag("Namespace of the NodeSets; none is the pod's.", CLUSTER)] = ""
    kubeconfig: Kubeconfig = None
    action: Annotated[
        Action,
        Flag("Power nodes up or down, or wait until they were added or removed.", POWER, names=(), word=True),
    ]
    nodes: Annotated[str, Flag("Nodes as Slurm writes them: worker-[0-5],gpu-2.", POWER)]
    timeout: Annotated[timedelta, Flag("Time that it may take.", POWER)] = timedelta(seconds=30)
    log_level: LogLevel = Level.INFO
