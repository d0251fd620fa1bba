"""NodeSet: workers that run slurmd."""

import re
from typing import Annotated, Any, Literal

from pydantic import Field

from slurmery.api.duration import duration
from slurmery.api.fields import (
    Free,
    GoDuration,
    Int32,
    Int64,
    IntOrString,
    Items,
    Manifest,
    Nullable,
    Sentence,
    StringMap,
    Time,
    absent,
)
from slurmery.api.resource import Column, CustomResource, Model, Scale
from slurmery.api.rules import Change, Immutable, Rule
from slurmery.api.slinky.shared import (
    AGE,
    GROUP,
    NAMED,
    VERSION,
    Container,
    LocalRef,
    PodTemplate,
    SecretKeyRef,
    Status,
)

Retention = Literal["Retain", "Delete"]


class Ssh(
    Model,
    markers=(
        Rule(
            "!self.enabled || size(self.sssdConfRef.name) > 0",
            "sssdConfRef must name a Secret when ssh is enabled",
            holds=lambda ssh: not ssh["enabled"] or bool(ssh["sssdConfRef"]["name"]),
            path=".sssdConfRef",
        ),
    ),
):
    """Logging in to workers over SSH."""

    enabled: bool = False
    """Whether sshd runs beside slurmd."""
    extra_sshd_config: str = absent("")
    """Lines to append to sshd_config."""
    sssd_conf_ref: SecretKeyRef
    """Secret key that holds sssd.conf."""


class Partition(Model):
    """A partition made of this NodeSet alone."""

    enabled: bool = False
    """Whether there is one."""
    config: Annotated[str, Field(pattern=r"^[^\n]+$"), Sentence("must be one line of text")] | None = None
    """Parameters of the partition line, for example "State=UP MaxTime=UNLIMITED"."""


class RollingUpdate(Model):
    """Replacing pods a few at a time."""

    max_unavailable: Annotated[
        IntOrString,
        Rule(
            "type(self) == int ? self >= 1 : self != '0%'",
            "must be at least 1, or a percentage above 0%",
            holds=lambda limit: limit >= 1 if isinstance(limit, int) else limit != "0%",
        ),
    ] = "25%"
    """How many pods may be unavailable at once: a number, or a percentage that rounds up."""


class ScheduledUpdate(Model):
    """Replacing pods inside a Slurm reservation."""

    start_time: Time | None = None
    """When the reservation begins."""
    duration: Annotated[
        GoDuration,
        Rule(
            "duration(self) == duration('0s') || duration(self) >= duration('1m')",
            "must be at least one minute",
            holds=lambda length: not 0 < abs(duration(length).total_seconds()) < 60,
        ),
    ] = "30m"
    """How long the reservation lasts."""
    flags: Annotated[Items[str], Nullable()] = absent(())
    """Further flags of the reservation."""


class UpdateStrategy(
    Model,
    markers=(
        Rule(
            "self.type != 'ScheduledUpdate' || (has(self.scheduledUpdate)"
            " && has(self.scheduledUpdate.startTime) && has(self.scheduledUpdate.duration))",
            "type ScheduledUpdate needs scheduledUpdate.startTime and scheduledUpdate.duration",
            holds=lambda strategy: (
                strategy["type"] != "ScheduledUpdate" or "startTime" in strategy.get("scheduledUpdate", {})
            ),
        ),
    ),
):
    """How pods follow a changed spec."""

    type: Literal["RollingUpdate", "OnDelete", "ScheduledUpdate"] = "RollingUpdate"
    """Replace pods a few at a time, only when a person deletes them, or inside a Slurm reservation."""
    rolling_update: RollingUpdate = absent(RollingUpdate())
    """Settings of RollingUpdate."""
    scheduled_update: ScheduledUpdate | None = None
    """Settings of ScheduledUpdate."""


class ClaimRetention(Model):
    """What becomes of the volume claims of pods that are no longer wanted."""

    when_deleted: Retention = "Retain"
    """When the NodeSet is deleted."""
    when_scaled: Retention = "Retain"
    """When the NodeSet is scaled in."""


def _hostname_begins_a_name(spec: Manifest) -> bool:
    hostname: Any = spec.get("template", {}).get("spec", {}).get("hostname") or "x"
    return (
        bool(re.fullmatch(r"[a-z0-9]([-.a-z0-9]*)", hostname))
        and ".." not in hostname
        and len(hostname) <= 253
    )


class NodeSetSpec(
    Model,
    markers=(
        Change(
            "",
            "volumeClaimTemplates cannot be changed",
            holds=lambda new, old: (
                (new.get("volumeClaimTemplates") or []) == (old.get("volumeClaimTemplates") or [])
            ),
            path=".volumeClaimTemplates",
        ),
        Rule(
            "",
            "must be the beginning of a DNS name: lower-case letters, digits, '-' and '.'",
            holds=_hostname_begins_a_name,
            path=".template.spec.hostname",
        ),
    ),
):
    """The workers to run."""

    controller_ref: Annotated[LocalRef, NAMED, Immutable()]
    """Controller in the same namespace that the workers belong to."""
    replicas: Int32 = 1
    """How many workers there are; of no effect in DaemonSet mode."""
    scaling_mode: Literal["StatefulSet", "DaemonSet"] = "StatefulSet"
    """Numbered workers, or one worker on every fitting Kubernetes node."""
    slurmd: Container = absent({})
    """A core/v1 Container, merged over the generated slurmd container."""
    ssh: Ssh | None = None
    """Logging in to workers over SSH."""
    logfile: Container = absent({})
    """A core/v1 Container, merged over the sidecar that prints slurmd's log."""
    template: PodTemplate = absent(PodTemplate())
    """What to lay over the worker pods."""
    extra_conf: Annotated[
        str,
        Rule(
            r"self.matches('^\\s*([^\\s=]*=\\S*(\\s+|$))*$')",
            "must be Key=Value pairs with spaces between them",
            holds=lambda text: all("=" in pair for pair in text.split()),
        ),
    ] = absent("")
    """Node parameters for slurmd: Key=Value pairs with spaces between, like "Features=a,b Gres=gpu:8"."""
    partition: Partition = absent(Partition())
    """A partition made of this NodeSet alone."""
    volume_claim_templates: Annotated[Any, Free("io.k8s.api.core.v1.PersistentVolumeClaim", many=True)] = None
    """A list of core/v1 PersistentVolumeClaims that every worker gets its own copies of."""
    update_strategy: UpdateStrategy = absent(UpdateStrategy())
    """How pods follow a changed spec."""
    revision_history_limit: Int32 = 0
    """How many old revisions are kept."""
    persistent_volume_claim_retention_policy: ClaimRetention = absent(ClaimRetention())
    """What becomes of the volume claims of pods that are no longer wanted."""
    min_ready_seconds: Int32 = absent(0)
    """How long a new pod must be ready before it counts as available."""
    ordinal_padding: Annotated[int, Field(ge=0)] = 0
    """Width to which worker numbers are filled up with zeros, in StatefulSet mode."""
    pin_to_node: bool = False
    """Whether a worker returns to the Kubernetes node that it first ran on, in StatefulSet mode."""
    workload_disruption_protection: bool = True
    """Whether pods with running jobs are protected from eviction."""
    prune_slurm_node_records: Literal["Never", "NodeNotFound"] = "Never"
    """Whether Slurm forgets nodes whose Kubernetes node is gone, in DaemonSet mode."""
    oversubscribe_node: bool = False
    """Whether several workers may share a Kubernetes node."""


class NodeSetStatus(Status):
    """What the operator observed of the workers."""

    replicas: Int32 = absent(0)
    """Pods that exist."""
    updated_replicas: Int32 = absent(0)
    """Pods of the newest revision."""
    ready_replicas: Int32 = absent(0)
    """Pods that are ready."""
    available_replicas: Int32 = absent(0)
    """Pods that have been ready for minReadySeconds."""
    unavailable_replicas: Int32 = absent(0)
    """Pods that are missing or not available."""
    desired: Int32 = absent(0)
    """Pods that should exist."""
    slurm_idle: Int32 = absent(0)
    """Slurm nodes without jobs."""
    slurm_allocated: Int32 = absent(0)
    """Slurm nodes with jobs, fully (ALLOCATED) or in part (MIXED)."""
    slurm_down: Int32 = absent(0)
    """Slurm nodes that are down."""
    slurm_drain: Int32 = absent(0)
    """Slurm nodes that take no new jobs."""
    observed_generation: Int64 = absent(0)
    """Generation of the spec that this status is about."""
    node_set_hash: str
    """Hash of the newest revision."""
    collision_count: Int32 | None = None
    """How often a revision's hash was taken already."""
    ordinal_to_node: Annotated[StringMap, Nullable()] = absent({})
    """Kubernetes node of each worker number, when pinToNode is true."""
    selector: str
    """Label selector of the pods, for autoscalers."""


class NodeSet(
    CustomResource,
    group=GROUP,
    version=VERSION,
    plural="nodesets",
    short_names=("nodesets", "nss", "slurmd"),
    scale=Scale(),
    columns=(
        Column("DESIRED", "integer", ".status.desired"),
        Column("REPLICAS", "integer", ".status.replicas"),
        Column("UPDATED", "integer", ".status.updatedReplicas"),
        Column("READY", "integer", ".status.readyReplicas"),
        Column("IDLE", "integer", ".status.slurmIdle", priority=1),
        Column("ALLOCATED", "integer", ".status.slurmAllocated", priority=1),
        Column("DOWN", "integer", ".status.slurmDown", priority=1),
        Column("DRAIN", "integer", ".status.slurmDrain", priority=1),
        AGE,
    ),
):
    """A set of like workers that run slurmd."""

    spec: NodeSetSpec
    """The workers to run."""
    status: NodeSetStatus | None = None
    """What the operator observed."""
