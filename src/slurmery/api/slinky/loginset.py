"""LoginSet: pods that users log in to."""

from typing import Annotated

from slurmery.api.fields import Core, Int32, Manifest, absent
from slurmery.api.resource import Column, CustomResource, Model, Scale
from slurmery.api.rules import Immutable
from slurmery.api.slinky.shared import (
    AGE,
    GROUP,
    NAMED,
    NO_EXTERNAL_IPS,
    VERSION,
    Container,
    LocalRef,
    PodTemplate,
    SecretKeyRef,
    ServiceTemplate,
    Status,
)


class LoginSetSpec(Model, markers=(NO_EXTERNAL_IPS,)):
    """The login pods to run."""

    controller_ref: Annotated[LocalRef, NAMED, Immutable()]
    """Controller in the same namespace whose cluster users submit to."""
    replicas: Int32 = 1
    """How many login pods there are."""
    login: Container = absent({})
    """A core/v1 Container, merged over the generated login container (sshd, sssd and sackd)."""
    initconf: Container = absent({})
    """A core/v1 Container, merged over the init container that lays out /etc/slurm."""
    template: PodTemplate = absent(PodTemplate())
    """What to lay over the login pods."""
    root_ssh_authorized_keys: str = absent("")
    """Public keys that may log in as root, one a line."""
    extra_sshd_config: str = absent("")
    """Lines to append to sshd_config."""
    sssd_conf_ref: Annotated[SecretKeyRef, NAMED]
    """Secret key that holds sssd.conf."""
    strategy: Annotated[Manifest, Core("io.k8s.api.apps.v1.DeploymentStrategy")] = absent({})
    """How pods follow a changed spec, as in a Deployment."""
    service: ServiceTemplate = absent(ServiceTemplate())
    """What to lay over the Service of the login pods."""


class LoginSetStatus(Status):
    """What the operator observed of the login pods."""

    replicas: Int32 = absent(0)
    """Pods that exist."""
    selector: str
    """Label selector of the pods, for autoscalers."""


class LoginSet(
    CustomResource,
    group=GROUP,
    version=VERSION,
    plural="loginsets",
    short_names=("loginsets", "lss", "sackd"),
    scale=Scale(),
    columns=(Column("REPLICAS", "integer", ".status.replicas"), AGE),
):
    """A set of like pods that users log in to and submit jobs from."""

    spec: LoginSetSpec
    """The login pods to run."""
    status: LoginSetStatus | None = None
    """What the operator observed."""
