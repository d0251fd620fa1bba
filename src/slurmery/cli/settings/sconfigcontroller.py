"""What `slurmery sconfigcontroller` can be told."""

from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Final

from slurmery.cli.flags import Flag
from slurmery.cli.settings.shared import CLUSTER, RECONCILE, CacheTime, LeaderSettings, LeaseName
from slurmery.cli.values import Count, Url

SLURM: Final = "Slurm"


@dataclass(frozen=True, kw_only=True)
class SconfigcontrollerSettings(LeaderSettings):
    """What the writer of JailedConfigs can be told."""

    leader_election_id: LeaseName = "vqeyz6ae.nebius.ai"
    cluster_namespace: Annotated[str, Flag("Namespace of the SlurmCluster.", CLUSTER)] = "default"
    cluster_name: Annotated[str, Flag("Name of the SlurmCluster.", CLUSTER)] = "soperator"
    cache_sync_timeout: CacheTime = timedelta(minutes=1)
    max_concurrent_reconciles: Annotated[
        Count, Flag("How many JailedConfigs are reconciled at once.", RECONCILE)
    ] = 1
    jail_path: Annotated[Path, Flag("Where the jail is mounted.", SLURM)] = Path("/mnt/jail")
    slurmapiserver: Annotated[Url, Flag("Where slurmrestd answers.", SLURM)] = "http://localhost:6820"
    reconfigure_poll_interval: Annotated[
        timedelta, Flag("Time between two looks at a reconfiguration under way.", SLURM)
    ] = timedelta(seconds=20)
    reconfigure_wait_timeout: Annotated[timedelta, Flag("Time that a reconfiguration may take.", SLURM)] = (
        timedelta(minutes=1)
    )
    settle_time: Annotated[
        timedelta, Flag("Time for a new file to be seen on all nodes, before Slurm is told of it.", SLURM)
    ] = timedelta(seconds=16)
