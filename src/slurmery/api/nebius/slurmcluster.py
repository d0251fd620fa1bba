"""SlurmCluster: a whole Slurm cluster, with its configuration, storage and components.

Its parts are in `configuration`, `components`, `accounting`, `mariadb` and `exporter`. It reads manifests of
two generations: 1.22, in which the cluster has workers of its own, and 5.0, in which NodeSets have them.
"""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from slurmery.api.condition import Condition
from slurmery.api.duration import duration
from slurmery.api.fields import GoDuration, Int32, Int64, Items, ListMap, Manifest, StringMap, absent
from slurmery.api.nebius.accounting import Accounting
from slurmery.api.nebius.components import Controller, Login, Rest, Worker
from slurmery.api.nebius.configuration import (
    ClusterTopology,
    HealthCheckConfig,
    MpiConfig,
    PartitionConfiguration,
    PlugStackConfig,
    SlurmConfig,
    WorkerFeature,
)
from slurmery.api.nebius.containers import CgroupVersion, FilterName, NodeContainer, PullPolicy, SlurmNode
from slurmery.api.nebius.exporter import Exporter
from slurmery.api.nebius.generations import with_defaults_of_1_22
from slurmery.api.nebius.kubernetes import Affinity, LocalObjectReference, Toleration
from slurmery.api.nebius.references import references
from slurmery.api.nebius.volumes import NamedVolumeSource, NodeVolume
from slurmery.api.resource import Column, CustomResource, Model
from slurmery.api.rules import Rule


class PopulateJail(Model):
    """The Job that fills the shared root file system with its first content."""

    image: str
    """Image with the content."""
    image_pull_policy: PullPolicy = "IfNotPresent"
    """When the kubelet pulls the image."""
    image_pull_secrets: Items[LocalObjectReference] = absent(())
    """Secrets with which the image is pulled (5.0)."""
    k8s_node_filter_name: FilterName
    """Entry of `spec.k8sNodeFilters` that says where the pod may run."""
    jail_snapshot_volume: NodeVolume | None = None
    """Volume whose content is taken instead of the image's."""
    overwrite: bool = False
    """Whether content that is there already is replaced."""
    app_armor_profile: str = "unconfined"
    """AppArmor profile to run under."""
    priority_class: str = absent("")
    """PriorityClass of the pod."""
    host_users: bool | None = None
    """Whether the pod shares the user namespace of its host; absent leaves it to Kubernetes (5.0)."""


class NodeFilter(Model):
    """A choice of Kubernetes nodes; give either affinity or nodeSelector."""

    name: Annotated[str, Field(min_length=1, max_length=253)]
    """Name that components refer to."""
    affinity: Affinity | None = None
    """Affinity of the pods."""
    tolerations: Items[Toleration] = absent(())
    """Taints of Kubernetes nodes that the pods accept."""
    node_selector: StringMap = absent({})
    """Labels of the Kubernetes nodes."""


class Secrets(Model):
    """Secrets of your own."""

    sshd_keys_name: str = absent("")
    """Secret with the host keys of sshd; absent means that they are generated."""


class SlurmNodes(Model):
    """The components of the cluster."""

    accounting: Accounting
    """Slurm's database daemon, slurmdbd, and its database."""
    controller: Controller
    """Slurm's controller, slurmctld."""
    worker: Worker | None = None
    """The nodes that run jobs (1.22). Where it is absent, as in 5.0, NodeSets have them; where it is given,
    some defaults are those of 1.22."""
    login: Login
    """The nodes that users log in to with ssh."""
    exporter: Exporter
    """Slurm's state as metrics for Prometheus."""
    rest: Rest
    """Slurm's REST API, slurmrestd."""


class SConfigController(Model):
    """The program that writes configuration files into the shared root and makes Slurm read them."""

    node: SlurmNode | None = None
    """How many there are and where they run."""
    container: NodeContainer | None = None
    """Its container."""
    run_as_uid: Int64 | None = None
    """User that it runs as and that files belong to; 1001 when absent."""
    run_as_gid: Int64 | None = None
    """Group that it runs as and that files belong to; 1001 when absent."""
    reconfigure_poll_interval: GoDuration = "20s"
    """Time between two looks at whether all nodes have read the configuration."""
    reconfigure_wait_timeout: GoDuration = absent("5m")
    """How long to wait for all nodes to read the configuration; more than reconfigurePollInterval. When
    absent: 1m in a cluster with slurmNodes.worker (as in 1.22), else 5m (as in 5.0)."""
    host_users: bool | None = None
    """Whether the pods share the user namespace of their host; absent leaves it to Kubernetes (5.0)."""
    service_account_name: Annotated[str, Field(min_length=1)] | None = None
    """ServiceAccount of the pods; absent means one that is made for them (5.0)."""


def _waits_long_enough(spec: Manifest) -> bool:
    given = spec.get("sConfigController")
    if given is None:
        return True
    wait = given.get("reconfigureWaitTimeout", "1m" if "worker" in spec["slurmNodes"] else "5m")
    return duration(wait) > duration(given["reconfigurePollInterval"])


_WAIT = "self.sConfigController.reconfigureWaitTimeout"
_WAIT_TIMEOUT = Rule(
    f"!has(self.sConfigController) || duration(self.sConfigController.reconfigurePollInterval) < duration("
    f"has({_WAIT}) ? {_WAIT} : has(self.slurmNodes.worker) ? '1m' : '5m')",
    "must be more than reconfigurePollInterval",
    holds=_waits_long_enough,
    path=".sConfigController.reconfigureWaitTimeout",
)


class SlurmClusterSpec(Model, markers=(_WAIT_TIMEOUT, *references())):
    """A whole Slurm cluster."""

    cr_version: str = absent("")
    """Version of the operator that the object was written for."""
    cluster_type: Literal["gpu", "cpu"] = "gpu"
    """Whether the workers have GPUs (1.22; since 5.0 NodeSets say it)."""
    maintenance: Literal[
        "none",
        "downscale",
        "downscaleAndDeletePopulateJail",
        "downscaleAndOverwritePopulateJail",
        "skipPopulateJail",
    ] = "none"
    """`downscale` stops every component; the two longer forms also remove or repeat the Job that fills the
    shared root. `skipPopulateJail` runs everything but that Job."""
    populate_jail: PopulateJail
    """The Job that fills the shared root file system with its first content."""
    k8s_node_filters: Annotated[
        Items[NodeFilter], Field(alias="k8sNodeFilters", min_length=1, max_length=256), ListMap("name")
    ]
    """Choices of Kubernetes nodes that components refer to by name."""
    volume_sources: Annotated[Items[NamedVolumeSource], Field(max_length=256)] = absent(())
    """Volume sources that components refer to by name; the one named `jail` is the shared root file
    system."""
    secrets: Secrets
    """Secrets of your own."""
    slurm_nodes: SlurmNodes
    """The components of the cluster."""
    partition_configuration: PartitionConfiguration = absent(PartitionConfiguration())
    """Slurm's partitions: the default ones, lines of your own, or partitions made of NodeSets."""
    slurm_config: SlurmConfig = SlurmConfig()
    """Parameters of slurm.conf."""
    custom_slurm_config: str = absent("")
    """Lines to add to slurm.conf as they are."""
    custom_cgroup_config: str = absent("")
    """Lines to add to cgroup.conf; they win over generated ones of the same name (5.0)."""
    cgroup_version: CgroupVersion = "v2"
    """Version of cgroups on the hosts (5.0)."""
    topology: ClusterTopology = absent(ClusterTopology())
    """Topology of blocks (5.0)."""
    mpi_config: MpiConfig = MpiConfig()
    """Parameters of mpi.conf."""
    plug_stack_config: PlugStackConfig = PlugStackConfig()
    """SPANK plugins in plugstack.conf."""
    s_config_controller: SConfigController | None = None
    """The program that writes configuration files into the shared root and makes Slurm read them."""
    use_default_app_armor_profile: bool = False
    """Whether login and worker pods get a generated AppArmor profile; needs the
    security-profiles-operator."""
    worker_features: Items[WorkerFeature] = absent(())
    """Features that some of the workers have (1.22; since 5.0 NodeSets say it)."""
    health_check_config: HealthCheckConfig | None = None
    """The program with which Slurm checks its nodes."""

    @property
    def has_own_workers(self) -> bool:
        """Whether the cluster is of the generation of 1.22."""
        return self.slurm_nodes.worker is not None

    @model_validator(mode="after")
    def _complete(self) -> Self:
        return with_defaults_of_1_22(self) if self.has_own_workers else self


class SlurmClusterStatus(Model):
    """How far the cluster has got."""

    phase: str | None = None
    """Pending, Reconciling, Not available, Available or Deleting."""
    ready_workers: Int32 | None = None
    """Number of workers that are ready."""
    ready_login: Int32 | None = None
    """Number of login nodes that are ready."""
    ready_s_config_controller: Int32 | None = None
    """Number of configuration writers that are ready."""
    conditions: Items[Condition] = absent(())
    """CommonAvailable, ControllersAvailable, WorkersAvailable, LoginAvailable, AccountingAvailable,
    SConfigControllerAvailable, PopulateJailMode and NodeSetRefsResolved."""


def _condition(name: str) -> str:
    return f".status.conditions[?(@.type=='{name}')].status"


class SlurmCluster(
    CustomResource,
    group="slurm.nebius.ai",
    version="v1",
    plural="slurmclusters",
    columns=(
        Column("Status", "string", ".status.phase"),
        Column("Controllers", "string", _condition("ControllersAvailable")),
        Column("Workers", "integer", ".status.readyWorkers"),
        Column("Login", "integer", ".status.readyLogin"),
        Column("SConfigCtrl", "string", _condition("SConfigControllerAvailable")),
        Column("Accounting", "string", _condition("AccountingAvailable")),
    ),
):
    """A whole Slurm cluster, with its configuration, storage and components."""

    spec: SlurmClusterSpec | None = None
    """What the cluster consists of."""
    status: SlurmClusterStatus | None = None
    """How far the cluster has got."""
