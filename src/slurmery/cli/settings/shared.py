"""Settings that several programs share; a program with another default declares the field again."""

from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Final

from slurmery.cli.flags import Flag
from slurmery.cli.values import Level, Namespaces
from slurmery.kube.health import Address
from slurmery.kube.logs import Format, Times

LOGS: Final = "Logs"
SERVE: Final = "Serving"
CLUSTER: Final = "Kubernetes"
ELECT: Final = "Leader election"
RECONCILE: Final = "Reconciling"
WEBHOOKS: Final = "Webhooks"

METRICS: Final = Address(None, 8080)
PROBES: Final = Address(None, 8081)
_HOOKS: Final = Address(None, 9443)
_CERTIFICATES: Final = Path("/tmp/k8s-webhook-server/serving-certs")  # noqa: S108

LEVEL: Final = "From where on lines are logged: debug, info, warn or error; any other word is info."
_KUBECONFIG: Final = (
    "File that says how to reach Kubernetes; without it KUBECONFIG, the pod's account or ~/.kube/config."
)
LogLevel = Annotated[Level, Flag(LEVEL, LOGS)]
ZapLevel = Annotated[Level, Flag(f"{LEVEL} A number above 0 is debug.", LOGS, also=("zap-log-level",))]
MetricsAddress = Annotated[
    Address | None, Flag("Where /metrics is served; 0 is nowhere.", SERVE, also=("metrics-addr",))
]
Kubeconfig = Annotated[Path | None, Flag(_KUBECONFIG, CLUSTER)]
Watched = Annotated[
    Namespaces,
    Flag("Namespaces to look after; none or * is all.", CLUSTER, env="SLURM_OPERATOR_WATCH_NAMESPACES"),
]
LeaseName = Annotated[str, Flag("Name of the lease.", ELECT)]
CacheTime = Annotated[timedelta, Flag("Time for the caches to fill.", RECONCILE)]
ReconcileTime = Annotated[timedelta, Flag("Time that one reconcile may take.", RECONCILE)]


@dataclass(frozen=True, kw_only=True)
class LogSettings:
    """How the program speaks."""

    log_format: Annotated[Format, Flag("How log lines look.", LOGS)] = Format.JSON
    log_level: LogLevel = Level.DEBUG

    @property
    def log_style(self) -> tuple[Format, Level]:
        """What the settings come to."""
        return self.log_format, self.log_level

    @property
    def log_times(self) -> Times:
        """How times look."""
        return Times.ISO8601


@dataclass(frozen=True, kw_only=True)
class ZapSettings(LogSettings):
    """The same, with the names that Slinky's programs use as well."""

    log_format: Annotated[
        Format, Flag("How log lines look; `console` is plain.", LOGS, also=("zap-encoder",))
    ] = Format.JSON
    log_level: ZapLevel = Level.INFO
    zap_devel: Annotated[bool, Flag("Plain lines from debug on, whatever the other flags say.", LOGS)] = False
    zap_stacktrace_level: Annotated[
        str, Flag("Level with stack traces.", LOGS, moot="stack traces come with every unexpected error")
    ] = ""
    zap_time_encoding: Annotated[
        Times,
        Flag("How times look; rfc3339 and rfc3339nano are iso8601, in UTC like all of them.", LOGS),
    ] = Times.ISO8601

    @property
    def log_style(self) -> tuple[Format, Level]:
        return (Format.PLAIN, Level.DEBUG) if self.zap_devel else super().log_style

    @property
    def log_times(self) -> Times:
        return self.zap_time_encoding


@dataclass(frozen=True, kw_only=True)
class ServeSettings(LogSettings):
    """How the kubelet and Prometheus reach the program, and the program Kubernetes."""

    metrics_bind_address: MetricsAddress = METRICS
    health_probe_bind_address: Annotated[
        Address | None,
        Flag("Where /healthz and /readyz are served; 0 is nowhere.", SERVE, also=("health-addr",)),
    ] = PROBES
    metrics_secure: Annotated[
        bool, Flag("Serve metrics over TLS, and only to those whom Kubernetes allows to read them.", SERVE)
    ] = False
    enable_http2: Annotated[bool, Flag("Offer HTTP/2.", SERVE, moot="HTTP/1.1 is what we serve")] = False
    kubeconfig: Kubeconfig = None

    @property
    def home(self) -> str:
        """Namespace of the program's own objects; none is what Kubernetes' configuration says."""
        return ""


@dataclass(frozen=True, kw_only=True)
class LeaderSettings(ServeSettings):
    """How one replica is chosen to work."""

    leader_elect: Annotated[bool, Flag("Work only while holding the lease.", ELECT)] = False
    leader_elect_namespace: Annotated[
        str, Flag("Namespace of the lease; none is the program's own.", ELECT)
    ] = ""
    leader_election_id: LeaseName = ""


@dataclass(frozen=True, kw_only=True)
class HookSettings(LeaderSettings):
    """Where admission requests come in."""

    server_addr: Annotated[Address | None, Flag("Where webhooks are served.", WEBHOOKS)] = _HOOKS
    cert_dir: Annotated[
        Path,
        Flag(
            "Folder with tls.crt and tls.key, as cert-manager fills it; empty, we are our own authority.",
            WEBHOOKS,
        ),
    ] = _CERTIFICATES
    webhook_service: Annotated[
        str, Flag("Service that the API server asks; as our own authority we vouch for its names.", WEBHOOKS)
    ] = "slurmery-webhook"
    webhook_authority: Annotated[str, Flag("Secret that our own authority is kept in.", WEBHOOKS)] = (
        "slurmery-webhook-authority"
    )
