"""The components of a SlurmCluster: who runs slurmctld, slurmd, sshd and slurmrestd, and how."""

from typing import Annotated, Literal

from pydantic import Field

from slurmery.api.fields import (
    Int32,
    Int64,
    IntOrString,
    Items,
    PromDuration,
    Quantity,
    StringMap,
    absent,
)
from slurmery.api.nebius.containers import CgroupVersion, FilterName, Identity, NodeContainer, SlurmNode
from slurmery.api.nebius.kubernetes import Container
from slurmery.api.nebius.volumes import Mounts, NodeVolume
from slurmery.api.quantity import quantity
from slurmery.api.resource import Model
from slurmery.api.rules import Rule


class ControllerVolumes(Model):
    """Volumes of the controller."""

    spool: NodeVolume
    """Where slurmctld keeps its state."""
    jail: NodeVolume
    """The shared root file system."""
    custom_mounts: Mounts = absent(())
    """Volumes of your own."""


class ServiceMonitorConfig(Model):
    """How Prometheus scrapes slurmctld."""

    interval: PromDuration = "30s"
    """Time between two scrapes."""
    scrape_timeout: PromDuration = "28s"
    """Time that a scrape may take."""
    endpoints: Items[Literal["jobs", "jobs-users-accts", "nodes", "partitions", "scheduler"]] = absent(())
    """Groups of metrics to scrape; absent means all."""


class OpenMetrics(Model):
    """The metrics that slurmctld itself offers (5.0)."""

    enabled: bool = True
    """Whether slurmctld offers them."""
    service_monitor: ServiceMonitorConfig = ServiceMonitorConfig()
    """How Prometheus scrapes slurmctld."""


class Controller(Identity):
    """Slurm's controller, slurmctld. There is always one."""

    k8s_node_filter_name: FilterName
    """Entry of `spec.k8sNodeFilters` that says where the pod may run."""
    custom_init_containers: Items[Container] = absent(())
    """Init containers of your own."""
    priority_class: str = absent("")
    """PriorityClass of the pod."""
    host_users: bool | None = None
    """Whether the pod shares the user namespace of its host; absent leaves it to Kubernetes (5.0)."""
    service_account_name: str = absent("")
    """ServiceAccount of the pod, with which it switches ephemeral nodes on and off (5.0)."""
    slurmctld: NodeContainer
    """The container that runs slurmctld."""
    munge: NodeContainer
    """The container that runs munge."""
    sssd: NodeContainer | None = None
    """The container that runs sssd, for users from a directory service (5.0)."""
    volumes: ControllerVolumes
    """Volumes of the controller."""
    open_metrics: OpenMetrics = OpenMetrics()
    """The metrics that slurmctld itself offers (5.0)."""


class WorkerVolumes(Model):
    """Volumes of the workers."""

    spool: NodeVolume
    """Where slurmd keeps its state."""
    jail: NodeVolume
    """The shared root file system."""
    jail_sub_mounts: Mounts = absent(())
    """Volumes inside the shared root."""
    custom_mounts: Mounts = absent(())
    """Volumes outside the shared root."""
    shared_memory_size: Quantity = "64Gi"
    """Size of /dev/shm; it counts as memory of the pod."""


class Worker(SlurmNode):
    """The nodes that run jobs, in a cluster that does not use NodeSets (1.22)."""

    max_unavailable: IntOrString = "20%"
    """How many workers may be missing at once during an update, as a number or a percentage."""
    slurmd: NodeContainer
    """The container that runs slurmd and, in it, the jobs; cpu and memory are needed in its resources."""
    munge: NodeContainer
    """The container that runs munge."""
    volumes: WorkerVolumes
    """Volumes of the workers."""
    supervisord_config_map_ref_name: str = absent("")
    """ConfigMap with supervisord.conf; absent means a generated one."""
    sshd_config_map_ref_name: str = absent("")
    """ConfigMap with sshd_config; absent means a generated one."""
    worker_annotations: StringMap = absent({})
    """Annotations to add to the pods; they win over generated ones."""
    cgroup_version: CgroupVersion = "v2"
    """Version of cgroups on the hosts."""
    enable_gdr_copy: Annotated[bool, Field(alias="enableGDRCopy")] = False
    """Whether GDRCopy is made available to jobs."""
    slurm_node_extra: str = absent("")
    """Slurm's Extra of each node; it may use environment variables of the slurmd container."""


class LoginVolumes(Model):
    """Volumes of the login nodes."""

    jail: NodeVolume
    """The shared root file system."""
    jail_sub_mounts: Mounts = absent(())
    """Volumes inside the shared root."""
    custom_mounts: Mounts = absent(())
    """Volumes outside the shared root."""


class UserIsolation(
    Model,
    markers=(
        Rule(
            "!has(self.memoryHigh) || !has(self.memoryMax)"
            " || quantity(string(self.memoryHigh)).compareTo(quantity(string(self.memoryMax))) <= 0",
            "memoryHigh cannot be more than memoryMax",
            holds=lambda given: (
                quantity(given.get("memoryHigh", 0)) <= quantity(given.get("memoryMax", "9E"))
            ),
            path=".memoryHigh",
        ),
    ),
):
    """Limits for each user on a login node (5.0)."""

    enabled: bool = False
    """Whether users are limited."""
    memory_high: Quantity | None = None
    """Memory above which a user is slowed down; absent means 80 % of that of the container."""
    memory_max: Quantity | None = None
    """Memory that a user cannot exceed; absent means 90 % of that of the container."""
    cpu_weight: Annotated[Int64, Field(ge=1, le=10000)] = 100
    """Share of the CPU that a user gets in competition with others."""


_NODE_PORT = Rule(
    "self.sshdServiceType != 'NodePort'"
    " || (self.sshdServiceNodePort >= 30000 && self.sshdServiceNodePort <= 32767)",
    "must be from 30000 to 32767 for NodePort",
    holds=lambda login: (
        login["sshdServiceType"] != "NodePort" or 30000 <= login["sshdServiceNodePort"] <= 32767
    ),
    path=".sshdServiceNodePort",
)


class Login(SlurmNode, Identity, markers=(_NODE_PORT,)):
    """The nodes that users log in to with ssh."""

    sshd: NodeContainer
    """The container that runs sshd."""
    munge: NodeContainer
    """The container that runs munge."""
    sssd: NodeContainer | None = None
    """The container that runs sssd, for users from a directory service (5.0)."""
    sshd_service_type: Literal["LoadBalancer", "NodePort"]
    """Type of the Service that ssh comes in by."""
    sshd_service_annotations: StringMap = absent({})
    """Annotations of the Service."""
    sshd_service_load_balancer_ip: Annotated[str, Field(alias="sshdServiceLoadBalancerIP")] = absent("")
    """Address that the load balancer gets."""
    sshd_service_load_balancer_source_ranges: Items[str] = absent(())
    """Networks that the load balancer lets in."""
    sshd_service_node_port: Int32 = 0
    """Port on every Kubernetes node, for NodePort."""
    sshd_config_map_ref_name: str = absent("")
    """ConfigMap with sshd_config; absent means a generated one."""
    ssh_root_public_keys: Items[str]
    """Public keys with which one logs in as root."""
    user_isolation: UserIsolation | None = None
    """Limits for each user (5.0)."""
    volumes: LoginVolumes
    """Volumes of the login nodes."""


class Rest(SlurmNode):
    """Slurm's REST API, slurmrestd."""

    enabled: bool = False
    """Whether there is one."""
    rest: NodeContainer | None = None
    """The container that runs slurmrestd."""
    thread_count: Annotated[Int32, Field(ge=2, le=1024)] = 3
    """Number of threads."""
    max_connections: Annotated[Int32, Field(ge=2)] = 10
    """How many connections may be open at once."""
