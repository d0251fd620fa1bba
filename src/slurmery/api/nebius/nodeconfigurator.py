"""NodeConfigurator: a DaemonSet that prepares Kubernetes nodes and reboots them when asked.

1.22 knows the rebooter or an idle `nodeConfigurator` container; 5.0 calls the second one `customContainer`
and lets both run. `custom` reads either name.
"""

from typing import Annotated, Literal

from pydantic import Field

from slurmery.api.fields import Items, StringMap, absent
from slurmery.api.nebius.containers import Image
from slurmery.api.nebius.kubernetes import (
    Affinity,
    Container,
    EnvVar,
    Probe,
    ResourceRequirements,
    Toleration,
)
from slurmery.api.nebius.statusmetadata import StatusMetadata
from slurmery.api.resource import AGE, Column, CustomResource, Model
from slurmery.api.rules import Rule


class HostContainer(Model):
    """A container that runs on every node, and how its pod is placed."""

    enabled: bool
    """Whether the container runs."""
    image: Image | None = None
    """Image to run."""
    name: str = absent("")
    """Name of the container (5.0)."""
    command: Items[str] = absent(())
    """Replaces the entrypoint of the image (5.0)."""
    resources: ResourceRequirements = Field(default={})
    """Requests and limits of the container."""
    env: Items[EnvVar] = absent(())
    """Environment variables of the container."""
    liveness_probe: Probe | None = None
    """How the kubelet finds out that the container must be restarted."""
    readiness_probe: Probe | None = None
    """How the kubelet finds out that the container is ready."""
    tolerations: Items[Toleration] = absent(())
    """Taints of nodes that the pods accept."""
    node_selector: StringMap = absent({})
    """Labels of the nodes that the pods run on."""
    affinity: Affinity | None = None
    """Affinity of the pods."""
    priority_class_name: str = absent("")
    """PriorityClass of the pods."""
    service_account_name: str = absent("")
    """ServiceAccount of the pods."""
    host_users: bool | None = None
    """Whether the pods share the user namespace of their host (5.0)."""


class Rebooter(HostContainer):
    """Drains and reboots its node when a condition on the node asks for it."""

    eviction_method: Literal["evict"] = "evict"
    """How pods are taken off the node before a reboot."""
    log_level: Literal["debug", "info", "warn", "error"] = "info"
    """How much it logs."""
    log_format: str = absent("")
    """Format of its log: json or plain."""


def _rebooter_or_configurator(spec: dict[str, dict[str, bool]]) -> bool:
    if "nodeConfigurator" not in spec or "customContainer" in spec:
        return True
    return spec["rebooter"]["enabled"] != spec["nodeConfigurator"]["enabled"]


class NodeConfiguratorSpec(
    Model,
    markers=(
        Rule(
            "!has(self.nodeConfigurator) || has(self.customContainer)"
            " || self.rebooter.enabled != self.nodeConfigurator.enabled",
            "enable either rebooter or nodeConfigurator; use customContainer to run both",
            holds=_rebooter_or_configurator,
        ),
    ),
):
    """What runs on the nodes."""

    rebooter: Rebooter = Rebooter(enabled=True)
    """Drains and reboots nodes on request."""
    node_configurator: HostContainer | None = None
    """The name of customContainer before 5.0; ignored where that is given."""
    custom_container: HostContainer | None = None
    """A container of your own on each node (5.0)."""
    init_containers: Items[Container] = absent(())
    """Init containers that prepare the node; any given here replace the default one."""
    host_network: bool = True
    """Whether the pods use the network of their host (5.0)."""
    host_ipc: Annotated[bool, Field(alias="hostIPC")] = False
    """Whether the pods share the IPC namespace of their host (5.0)."""
    share_process_namespace: bool = False
    """Whether the containers of a pod see each other's processes (5.0)."""

    @property
    def custom(self) -> HostContainer | None:
        """The container of the user's own, whichever name it was given under."""
        return self.custom_container or self.node_configurator


class NodeConfigurator(
    CustomResource,
    group="slurm.nebius.ai",
    version="v1alpha1",
    plural="nodeconfigurators",
    columns=(
        Column("Rebooter Enabled", "boolean", ".spec.rebooter.enabled"),
        Column("NodeConfigurator Enabled", "boolean", ".spec.nodeConfigurator.enabled"),
        Column("CustomContainer Enabled", "boolean", ".spec.customContainer.enabled", priority=1),
        AGE,
    ),
):
    """A DaemonSet that prepares Kubernetes nodes for Slurm and reboots them when asked."""

    spec: NodeConfiguratorSpec | None = None
    """What runs on the nodes."""
    status: StatusMetadata | None = None
    """How far the object has been acted on."""
