"""NodeSet: a set of like worker nodes of a Slurm cluster.

1.22 had the schema but no controller for it. What it calls `nodeAttributes` is `nodeConfig` in 5.0;
`features` reads either.
"""

from typing import Annotated, Literal

from pydantic import Field

from slurmery.api.condition import Conditions
from slurmery.api.fields import Int32, Int64, IntOrString, Items, Manifest, Quantity, StringMap, absent
from slurmery.api.nebius.containers import CgroupVersion, ContainerSecurity, Identity, Image
from slurmery.api.nebius.kubernetes import (
    Affinity,
    Container,
    EnvVar,
    LocalObjectReference,
    Probe,
    ResourceList,
    Toleration,
    VolumeSource,
)
from slurmery.api.nebius.volumes import SourceMounts
from slurmery.api.resource import Column, CustomResource, Model, Scale
from slurmery.api.rules import Rule

MOST_UNAVAILABLE = 500


class NvidiaSpec(Model):
    """What NVIDIA's driver offers to jobs."""

    gdr_copy_enabled: bool = False
    """Whether GDRCopy is made available."""


class GpuSpec(Model):
    """The GPUs of the nodes."""

    enabled: bool = False
    """Whether the nodes have GPUs."""
    nvidia: NvidiaSpec = absent(NvidiaSpec())
    """What NVIDIA's driver offers to jobs."""


class NodeSetContainer(Model):
    """A container of the worker pods."""

    image: Image
    """Image to run."""
    resources: ResourceList
    """Resources by name, e.g. `cpu: 2`."""
    security: ContainerSecurity = absent(ContainerSecurity())
    """What the container may do and how much it may use."""
    liveness_probe: Probe | None = None
    """Replaces the liveness probe (5.0)."""
    readiness_probe: Probe | None = None
    """Replaces the readiness probe (5.0)."""


class ClaimRetention(Model):
    """What becomes of the claims of pods that go."""

    when_deleted: Literal["Retain", "Delete"] = "Delete"
    """When the NodeSet is deleted."""
    when_scaled: Literal["Retain", "Delete"] = "Delete"
    """When the NodeSet shrinks."""


class WorkerVolumes(Model):
    """The volumes of the worker pods."""

    jail: VolumeSource
    """The shared root file system."""
    spool: VolumeSource = Field(default={"emptyDir": {}})
    """Where slurmd keeps its state."""
    jail_sub_mounts: SourceMounts = absent(())
    """Volumes inside the shared root."""
    custom_volume_mounts: SourceMounts = absent(())
    """Volumes outside the shared root (5.0)."""
    shared_memory_size: Quantity = "64Gi"
    """Size of /dev/shm; it counts as memory of the pod."""
    persistent_volume_claim_retention_policy: ClaimRetention = ClaimRetention()
    """What becomes of the claims of pods that go (5.0)."""


class SlurmdContainer(NodeSetContainer):
    """The container that runs slurmd and, in it, the jobs."""

    port: Int32 = 6818
    """Port that slurmd listens on."""
    volumes: WorkerVolumes
    """The volumes of the worker pods."""
    custom_env: Items[EnvVar] = absent(())
    """Environment variables to add (5.0)."""
    cgroup_version: CgroupVersion = "v2"
    """Version of cgroups on the hosts (1.22; since 5.0 the SlurmCluster says it)."""


class NodeAttributes(Model):
    """What Slurm is told about the nodes, in the words of 1.22."""

    extra: str = absent("")
    """Slurm's Extra of each node."""
    features: Items[str] = absent(())
    """Slurm's features of each node."""


class NodeConfig(Model):
    """What Slurm is told about the nodes (5.0)."""

    features: Items[str] = absent(())
    """Slurm's features of each node."""
    auto_resume: bool = True
    """Whether Slurm may switch the nodes on when a job needs them."""
    static: str = ""
    """Parameters for the lines of the nodes in slurm.conf."""
    dynamic: str = ""
    """Parameters that slurmd registers with."""
    gres_config: Items[str] = absent(())
    """Lines of gres.conf for the nodes, without their names."""


class Docker(Model):
    """Docker in jobs."""

    enabled: bool = True
    """Whether jobs can use Docker."""


class NodeSetTopology(Model):
    """Where the nodes stand in the network."""

    fabric: str = "root"
    """Network fabric that the nodes belong to."""


def _within_limit(spec: Manifest) -> bool:
    at_most = spec["maxUnavailable"]
    if isinstance(at_most, int):
        return 1 <= at_most <= MOST_UNAVAILABLE
    number = at_most.removesuffix("%")
    if number == at_most or not (number.isascii() and number.isdigit()) or len(number) > 3:
        return False
    return int(number) * int(spec["replicas"]) // 100 <= MOST_UNAVAILABLE


_MAX_UNAVAILABLE = Rule(
    "type(self.maxUnavailable) == int"
    f" ? self.maxUnavailable >= 1 && self.maxUnavailable <= {MOST_UNAVAILABLE}"
    " : string(self.maxUnavailable).matches('^[0-9]{1,3}%$')"
    f" && int(string(self.maxUnavailable).replace('%', '')) * self.replicas / 100 <= {MOST_UNAVAILABLE}",
    f"must be a number from 1 to {MOST_UNAVAILABLE}, or a percentage that comes to no more than that",
    holds=_within_limit,
    path=".maxUnavailable",
)


class NodeSetSpec(Identity, markers=(_MAX_UNAVAILABLE,)):
    """A set of like worker nodes."""

    cluster_name: str = absent("")
    """SlurmCluster in the same namespace that the nodes belong to; before 5.0 the annotation
    `slurm.nebius.ai/parental-cluster-ref` said it."""
    replicas: Int32 = 1
    """Number of nodes."""
    max_unavailable: IntOrString = 500
    """How many nodes may be missing at once while they start or are updated, as a number or a percentage
    (5.0)."""
    update_strategy: Literal["rollingUpdate", "slurmAwareRollingUpdate"] = "rollingUpdate"
    """How changes reach the nodes; `slurmAwareRollingUpdate` leaves the moment to Slurm (5.0)."""
    ephemeral_nodes: bool = False
    """Whether nodes exist only while Slurm wants them to be on (5.0)."""
    initial_number_ephemeral_nodes: Annotated[Int32, Field(ge=0)] = 1
    """How many ephemeral nodes are on at first (5.0)."""
    ephemeral_topology_wait_timeout: Annotated[Int32, Field(ge=60)] = 180
    """How many seconds an ephemeral node waits for its place in the topology (5.0)."""
    node_selector: StringMap = absent({})
    """Labels of the Kubernetes nodes that the pods run on."""
    affinity: Affinity | None = None
    """Affinity of the pods."""
    tolerations: Items[Toleration] = absent(())
    """Taints of Kubernetes nodes that the pods accept."""
    priority_class: str = absent("")
    """PriorityClass of the pods."""
    worker_annotations: StringMap = absent({})
    """Annotations to add to the pods; they win over generated ones (5.0)."""
    enable_host_user_namespace: bool = False
    """Whether the pods share the user namespace of their host (5.0)."""
    image_pull_secrets: Items[LocalObjectReference] = absent(())
    """Secrets with which images are pulled (5.0)."""
    custom_init_containers: Items[Container] = absent(())
    """Init containers of your own (5.0)."""
    worker_init_random_delay_seconds: Annotated[Int32, Field(ge=0)] = 0
    """Nodes wait up to this many seconds, at random, before they register, so that they do not all come at
    once (5.0)."""
    gpu: GpuSpec = absent(GpuSpec())
    """The GPUs of the nodes."""
    slurmd: SlurmdContainer
    """The container that runs slurmd and, in it, the jobs."""
    munge: NodeSetContainer
    """The container that runs munge."""
    sssd: NodeSetContainer | None = None
    """The container that runs sssd, for users from a directory service (5.0)."""
    node_config: NodeConfig = absent(NodeConfig())
    """What Slurm is told about the nodes (5.0)."""
    node_attributes: NodeAttributes = absent(NodeAttributes())
    """What Slurm is told about the nodes (1.22; since 5.0 nodeConfig says it)."""
    docker: Docker = absent(Docker())
    """Docker in jobs (5.0)."""
    topology: NodeSetTopology = absent(NodeSetTopology())
    """Where the nodes stand in the network (5.0)."""
    config_map_ref_supervisord: str = absent("")
    """ConfigMap with supervisord.conf; absent means a generated one."""
    config_map_ref_sshd: str = absent("")
    """ConfigMap with sshd_config; absent means a generated one."""

    @property
    def features(self) -> tuple[str, ...]:
        """Slurm's features of each node, whichever field says so."""
        return self.node_config.features or self.node_attributes.features


class NodeSetStatus(Model):
    """How far the nodes have got."""

    phase: str = "Pending"
    """Pending, Configuring, Provisioning, Ready, Degraded or Terminating."""
    replicas: Int32 = 0
    """Number of nodes that are ready."""
    label_selector: str = absent("")
    """Selects the pods; autoscalers read it."""
    observed_generation: Int64 = absent(0)
    """Generation of the object that has been acted on."""
    conditions: Conditions = absent(())
    """ConfigUpdated, ConfigDynamicUpdated, StatefulSetUpdated, PodsReady and StatefulSetTerminated."""


class NodeSet(
    CustomResource,
    group="slurm.nebius.ai",
    version="v1alpha1",
    plural="nodesets",
    columns=(
        Column("Status", "string", ".status.phase"),
        Column("Desired", "integer", ".spec.replicas"),
        Column("Ready", "integer", ".status.replicas"),
        Column("Ephemeral", "boolean", ".spec.ephemeralNodes"),
    ),
    scale=Scale(selector=".status.labelSelector"),
):
    """A set of like worker nodes of a Slurm cluster."""

    spec: NodeSetSpec | None = None
    """A set of like worker nodes."""
    status: NodeSetStatus | None = None
    """How far the nodes have got."""
