"""What `slurmery exporter` can be told."""

from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Final

from slurmery.cli.flags import Flag
from slurmery.cli.settings.shared import CLUSTER, LEVEL, LOGS, METRICS, PROBES, SERVE, LogSettings
from slurmery.cli.values import Count, Level, Names, Url
from slurmery.exporter.scope import OPTIONAL_LABELS, Generation, Scope
from slurmery.kube.health import Address
from slurmery.kube.logs import Format

SLURM: Final = "Slurm"
SERIES: Final = "How many series"


class JobSource(StrEnum):
    """Who is asked for jobs."""

    CONTROLLER = "controller"
    ACCOUNTING = "accounting"


@dataclass(frozen=True, kw_only=True)
class ExporterSettings(LogSettings):
    """What the exporter can be told."""

    log_format: Annotated[Format, Flag("How log lines look.", LOGS, env="SLURM_EXPORTER_LOG_FORMAT")] = (
        Format.JSON
    )
    log_level: Annotated[Level, Flag(LEVEL, LOGS, env="SLURM_EXPORTER_LOG_LEVEL")] = Level.DEBUG
    metrics_bind_address: Annotated[
        Address | None,
        Flag(
            "Where Slurm's metrics and /health are served; 0 is nowhere.",
            SERVE,
            also=("metrics-port",),
            env="SLURM_EXPORTER_METRICS_BIND_ADDRESS",
        ),
    ] = METRICS
    monitoring_bind_address: Annotated[
        Address | None,
        Flag(
            "Where the exporter's own metrics, /healthz and /readyz are served; 0 is nowhere.",
            SERVE,
            also=("health-port",),
            env="SLURM_EXPORTER_MONITORING_BIND_ADDRESS",
        ),
    ] = PROBES
    cluster_name: Annotated[
        str, Flag("Name of the SlurmCluster.", CLUSTER, env="SLURM_EXPORTER_CLUSTER_NAME")
    ]
    cluster_namespace: Annotated[
        str, Flag("Namespace of the SlurmCluster.", CLUSTER, env="SLURM_EXPORTER_CLUSTER_NAMESPACE")
    ] = "soperator"
    standalone: Annotated[bool, Flag("Do without Kubernetes.", CLUSTER, env="SLURM_EXPORTER_STANDALONE")] = (
        False
    )
    kubeconfig_path: Annotated[
        Path | None,
        Flag(
            "File that says how to reach Kubernetes; none is the pod's account.",
            CLUSTER,
            also=("kubeconfig",),
            env="SLURM_EXPORTER_KUBECONFIG_PATH",
        ),
    ] = None
    slurm_api_server: Annotated[
        Url, Flag("Where slurmrestd answers.", SLURM, env="SLURM_EXPORTER_SLURM_API_SERVER")
    ] = "http://localhost:6820"
    static_token: Annotated[str, Flag("Token to show to slurmrestd.", SLURM, env="SLURM_EXPORTER_TOKEN")] = (
        field(default="", repr=False)
    )
    scontrol_path: Annotated[
        str, Flag("Program that issues tokens when standalone.", SLURM, env="SLURM_EXPORTER_SCONTROL_PATH")
    ] = "scontrol"
    key_rotation_interval: Annotated[
        timedelta, Flag("Life of those tokens.", SLURM, env="SLURM_EXPORTER_KEY_ROTATION_INTERVAL")
    ] = timedelta(minutes=30)
    collection_interval: Annotated[
        timedelta, Flag("Time between two readings.", SLURM, env="SLURM_EXPORTER_COLLECTION_INTERVAL")
    ] = timedelta(seconds=30)
    max_collector_inflight: Annotated[
        Count,
        Flag(
            "How many readings of one kind may be under way at once.",
            SLURM,
            env="SLURM_EXPORTER_MAX_COLLECTOR_INFLIGHT",
        ),
    ] = 1
    job_source: Annotated[
        JobSource, Flag("Who is asked for jobs.", SLURM, env="SLURM_EXPORTER_JOB_SOURCE")
    ] = JobSource.CONTROLLER
    accounting_jobs_lookback: Annotated[
        timedelta,
        Flag(
            "How far back accounting is asked for jobs.", SLURM, env="SLURM_EXPORTER_ACCOUNTING_JOBS_LOOKBACK"
        ),
    ] = timedelta(hours=1)
    metrics_generation: Annotated[
        Generation,
        Flag(
            "Whose metrics and labels are served: 5.0 has all that 1.22 has, and more.",
            SERIES,
            env="SLURM_EXPORTER_METRICS_GENERATION",
        ),
    ] = Generation.V5_0
    job_series: Annotated[
        bool,
        Flag(
            "Give each job series of its own; sums over jobs are always there.",
            SERIES,
            env="SLURM_EXPORTER_JOB_SERIES",
        ),
    ] = True
    max_job_series: Annotated[
        Count,
        Flag(
            "How many series single jobs may have in all; finished jobs go first.",
            SERIES,
            env="SLURM_EXPORTER_MAX_JOB_SERIES",
        ),
    ] = 500_000
    omitted_labels: Annotated[
        Names,
        Flag(
            f"Labels to leave out, of {', '.join(OPTIONAL_LABELS)}.",
            SERIES,
            env="SLURM_EXPORTER_OMITTED_LABELS",
        ),
    ] = ()

    def __post_init__(self) -> None:
        _ = self.scope  # raises ValueError

    @property
    def scope(self) -> Scope:
        """How much is exported."""
        return Scope(
            generation=self.metrics_generation,
            jobs=self.job_series,
            max_job_series=self.max_job_series,
            omitted_labels=frozenset(self.omitted_labels),
        )
