"""What the kinds say about a container or a set of pods, in one of two dialects.

SlurmCluster (v1) writes an image as one text in a `NodeContainer`; the v1alpha1 kinds split it into an
`Image` and keep security apart.
"""

from typing import Annotated, Literal, TypeAlias

from pydantic import Field

from slurmery.api.fields import Int32, Items, absent
from slurmery.api.nebius.kubernetes import Container, EnvVar, LocalObjectReference, Probe, ResourceList
from slurmery.api.resource import Model

PullPolicy: TypeAlias = Literal["Always", "Never", "IfNotPresent"]
ProcMount: TypeAlias = Literal["Default", "Unmasked"]
CgroupVersion: TypeAlias = Literal["v1", "v2"]
FilterName = Annotated[str, Field(alias="k8sNodeFilterName", max_length=253)]


class NodeContainer(Model):
    """One container of a Slurm component."""

    image: str
    """Image to run, with its tag or digest."""
    image_pull_policy: PullPolicy = "IfNotPresent"
    """When the kubelet pulls the image."""
    image_pull_secrets: Items[LocalObjectReference] = absent(())
    """Secrets with which the image is pulled (5.0)."""
    command: Items[str] = absent(())
    """Replaces the entrypoint of the image."""
    args: Items[str] = absent(())
    """Replaces the arguments of the image."""
    port: Int32 = absent(0)
    """Port that the daemon listens on; absent or 0 means the port that is usual for it."""
    resources: ResourceList = absent({})
    """Resources by name, e.g. `cpu: 2`. They are the requests; the limits are derived from them."""
    security_limits_config: str = absent("")
    """Text of the container's limits.conf."""
    app_armor_profile: str = "unconfined"
    """AppArmor profile to run under."""
    proc_mount: ProcMount | None = None
    """How /proc is mounted: `Default` masks parts of it, `Unmasked` does not (5.0)."""
    custom_env: Items[EnvVar] = absent(())
    """Environment variables to add (5.0)."""
    liveness_probe: Probe | None = None
    """Replaces the liveness probe of the component (5.0)."""
    readiness_probe: Probe | None = None
    """Replaces the readiness probe of the component (5.0)."""


class SlurmNode(Model):
    """What every replicated Slurm component has."""

    size: Int32 = absent(0)
    """Number of instances; absent means none."""
    k8s_node_filter_name: FilterName
    """Entry of `spec.k8sNodeFilters` that says where the pods may run."""
    custom_init_containers: Items[Container] = absent(())
    """Init containers of your own."""
    priority_class: str = absent("")
    """PriorityClass of the pods."""
    host_users: bool | None = None
    """Whether the pods share the user namespace of their host; absent leaves it to Kubernetes (5.0)."""


class Identity(Model):
    """Users from a directory service, served by an sssd container beside the daemon (5.0)."""

    sssd_debug_level: Annotated[Int32, Field(ge=0)] = 0
    """How much sssd logs; 0 is quiet."""
    sssd_conf_secret_ref_name: str = absent("")
    """Secret with sssd.conf; absent means a generated one."""
    sssd_ldap_ca_config_map_ref_name: Annotated[str, Field(alias="sssdLdapCAConfigMapRefName")] = absent("")
    """ConfigMap with the CA certificates of the LDAP server."""


class Image(Model):
    """A container image."""

    repository: str
    """Where the image is, without its tag."""
    tag: str = absent("")
    """Tag of the image; absent means `latest`."""
    pull_policy: PullPolicy = "IfNotPresent"
    """When the kubelet pulls the image."""

    @property
    def reference(self) -> str:
        """The image as a container spells it."""
        return f"{self.repository}:{self.tag}" if self.tag else self.repository


class ContainerSecurity(Model):
    """What a container may do and how much it may use."""

    limits_config: str = absent("")
    """Text of the container's limits.conf."""
    app_armor_profile: str = "unconfined"
    """AppArmor profile to run under."""
    proc_mount: ProcMount | None = None
    """How /proc is mounted: `Default` masks parts of it, `Unmasked` does not (5.0)."""
