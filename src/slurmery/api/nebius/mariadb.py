"""The database of a SlurmCluster's accounting, run by the mariadb-operator.

Most of this is handed to the mariadb-operator as it is. Its shape changed between 0.38 (which 1.22 uses) and
25 (which 5.0 uses); the fields of both are known here.
"""

from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import BeforeValidator

from slurmery.api.fields import (
    PRESERVE,
    GoDuration,
    Inline,
    Int32,
    Manifest,
    Marker,
    Quantity,
    Schema,
    absent,
)
from slurmery.api.nebius.containers import NodeContainer
from slurmery.api.nebius.kubernetes import PodSecurityContext, SecurityContext
from slurmery.api.resource import Inlining, Model
from slurmery.api.rules import Change

WaitPoint: TypeAlias = Literal["AfterSync", "AfterCommit"]
Retention: TypeAlias = Literal["Retain", "Delete"]


@dataclass(frozen=True)
class _Unjudged(Marker):
    """Not judged by the API server: it cannot express the type, or the mariadb-operator judges it."""

    type: str = ""

    def mark(self, schema: Schema) -> Schema:  # noqa: ARG002
        return ({"type": self.type} if self.type else {}) | {PRESERVE: True}


Passed = Annotated[Manifest, _Unjudged("object")]


class MetricsSpec(Model):
    """Metrics of the database."""

    enabled: bool = True
    """Whether the mariadb-operator sets up an exporter."""


class GeneratedSecretKeyRef(Model):
    """A key of a Secret that may have to be generated."""

    name: str = absent("")
    """Name of the Secret."""
    key: str
    """Key in the Secret."""
    generate: bool = absent(False)
    """Whether the mariadb-operator makes the Secret where it is missing."""


class PrimaryReplication(Model):
    """The server that takes writes."""

    pod_index: Int32 | None = None
    """Ordinal of its pod."""
    automatic_failover: bool | None = None
    """Whether another server takes over when it fails (0.38)."""
    auto_failover: bool | None = None
    """Whether another server takes over when it fails (25)."""
    auto_failover_delay: GoDuration | None = None
    """How long to wait before another server takes over (25)."""


class ReplicaReplication(Model):
    """The servers that follow."""

    connection_retries: Int32 | None = None
    """How often a replica tries to connect (0.38)."""
    connection_timeout: GoDuration | None = None
    """How long a replica waits for a connection (0.38)."""
    connection_retry_seconds: Int32 | None = None
    """Seconds between two tries to connect (25)."""
    gtid: Literal["CurrentPos", "SlavePos"] | None = None
    """Position from which a replica starts."""
    repl_password_secret_key_ref: GeneratedSecretKeyRef | None = None
    """Password of the replication user."""
    sync_timeout: GoDuration | None = None
    """How long a switchover waits for replicas to catch up."""
    wait_point: WaitPoint | None = None
    """When a transaction waits for a replica (0.38)."""
    max_lag_seconds: Int32 | None = None
    """Seconds that a replica may lag behind and still count as ready (25)."""
    bootstrap_from: Passed | None = None
    """Where new replicas get their data from (25)."""
    recovery: Passed | None = None
    """How broken replicas are recovered (25)."""


def _flag_or_count(value: Any) -> Any:
    if isinstance(value, bool | int):
        return value
    raise ValueError("must be true, false or a whole number")


class Replication(Model):
    """Replication between several servers."""

    enabled: bool | None = None
    """Whether there is replication."""
    primary: PrimaryReplication | None = None
    """The server that takes writes."""
    replica: ReplicaReplication | None = None
    """The servers that follow."""
    sync_binlog: Annotated[bool | int, BeforeValidator(_flag_or_count), _Unjudged()] | None = None
    """Whether the binary log is synchronised to disk (0.38), or after how many events (25)."""
    probes_enabled: bool | None = None
    """Whether probes look at the replication (0.38)."""
    standalone_probes: bool | None = None
    """Whether the probes of a single server are used (25)."""
    gtid_strict_mode: bool | None = None
    """Whether transaction ids must be in order (25)."""
    semi_sync_enabled: bool | None = None
    """Whether a commit waits for a replica (25)."""
    semi_sync_ack_timeout: GoDuration | None = None
    """How long a commit waits for a replica (25)."""
    semi_sync_wait_point: WaitPoint | None = None
    """When a commit waits for a replica (25)."""
    agent: Passed | None = None
    """The mariadb-operator's sidecar (25)."""
    init_container: Passed | None = None
    """The mariadb-operator's init container (25)."""


class ClaimTemplate(Inlining, markers=(Inline("io.k8s.api.core.v1.PersistentVolumeClaimSpec"),)):
    """The spec of a claim, with labels and annotations under `metadata`."""

    metadata: Passed | None = None
    """Labels and annotations of the claim."""


class ClaimRetention(Model):
    """What becomes of claims (25)."""

    when_deleted: Retention | None = None
    """When the database is deleted."""
    when_scaled: Retention | None = None
    """When the database shrinks."""


class Storage(Model):
    """Where the database keeps its data."""

    ephemeral: bool | None = None
    """Whether the data may be lost with the pod; for tests."""
    size: Quantity | None = None
    """Size of the volume."""
    storage_class_name: str = absent("")
    """StorageClass of the volume; absent means the default one."""
    resize_in_use_volumes: bool | None = None
    """Whether volumes grow when size does."""
    wait_for_volume_resize: bool | None = None
    """Whether the database counts as ready only once volumes have grown."""
    volume_claim_template: ClaimTemplate | None = None
    """Claim to make for each pod, instead of size and storageClassName."""
    pvc_retention_policy: ClaimRetention | None = None
    """What becomes of claims (25)."""


class MariaDbOperator(
    NodeContainer,
    markers=(
        Change(
            "self.protectedSecret == oldSelf.protectedSecret",
            "cannot be changed",
            holds=lambda new, old: bool(new["protectedSecret"] == old["protectedSecret"]),
            path=".protectedSecret",
        ),
    ),
):
    """A MariaDB that is run for this cluster."""

    enabled: bool = absent(False)
    """Whether there is one."""
    protected_secret: bool = False
    """Whether the passwords are generated once and kept safe from deletion and change. Cannot be changed
    later."""
    replicas: Int32 | None = None
    """Number of servers; 1 when absent."""
    metrics: MetricsSpec = absent(MetricsSpec())
    """Metrics of the database."""
    replication: Replication | None = None
    """Replication between several servers."""
    storage: Storage | None = None
    """Where the database keeps its data."""
    pod_security_context: PodSecurityContext | None = None
    """Security settings of the pods."""
    security_context: SecurityContext | None = None
    """Security settings of the container."""
    priority_class_name: str = absent("")
    """PriorityClass of the pods (5.0)."""
