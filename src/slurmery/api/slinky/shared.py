"""Shapes that several Slinky kinds share."""

from dataclasses import replace
from typing import Annotated, Any

from slurmery.api.condition import Conditions
from slurmery.api.fields import (
    Atomic,
    Free,
    Manifest,
    Nullable,
    StringMap,
    absent,
)
from slurmery.api.resource import AGE as RESOURCE_AGE
from slurmery.api.resource import Model
from slurmery.api.rules import Change, Rule

GROUP = "slinky.slurm.net"
VERSION = "v1beta1"
AGE = replace(RESOURCE_AGE, name="AGE")

Container = Annotated[Manifest, Free("io.k8s.api.core.v1.Container")]

NAMED = Rule("size(self.name) > 0", "must name an object", holds=lambda ref: bool(ref["name"]), path=".name")


class LocalRef(Model, markers=(Atomic(),)):
    """An object in the same namespace."""

    name: str = ""
    """Name of the object."""


class SecretKeyRef(Model, markers=(Atomic(),)):
    """One key of a Secret in the same namespace."""

    key: str
    """Key inside the Secret."""
    name: str = ""
    """Name of the Secret."""
    optional: bool | None = None
    """Whether the Secret or its key may be missing."""


class ConfigMapKeyRef(Model, markers=(Atomic(),)):
    """One key of a ConfigMap in the same namespace."""

    key: str
    """Key inside the ConfigMap."""
    name: str = ""
    """Name of the ConfigMap."""
    optional: bool | None = None
    """Whether the ConfigMap or its key may be missing."""


class Labelled(Model):
    """Labels and annotations to put on a generated object."""

    labels: Annotated[StringMap, Nullable()] = absent({})
    """Labels to add."""
    annotations: Annotated[StringMap, Nullable()] = absent({})
    """Annotations to add."""


class PodTemplate(Model):
    """What to lay over the generated pods."""

    metadata: Labelled = absent(Labelled())
    """Labels and annotations of the pods."""
    spec: Annotated[Manifest, Free("io.k8s.api.core.v1.PodSpec")] = absent({})
    """A core/v1 PodSpec, merged over the generated one."""


class ServiceTemplate(Model):
    """What to lay over the generated Service."""

    metadata: Labelled = absent(Labelled())
    """Labels and annotations of the Service."""
    spec: Annotated[Manifest, Free("io.k8s.api.core.v1.ServiceSpec")] = absent({})
    """A core/v1 ServiceSpec, merged over the generated one. externalIPs are dropped."""
    port: int = absent(0)
    """Port that clients connect to; the daemon's own port when absent or 0."""
    node_port: int = absent(0)
    """Port on every node, for a Service of type NodePort; chosen by Kubernetes when absent or 0."""


class External(Model):
    """Where a daemon that runs outside Kubernetes answers."""

    host: str
    """Host name or address."""
    port: int
    """TCP port."""


class Status(Model):
    """What the operator observed."""

    conditions: Conditions = absent(())
    """How things stand, one entry per aspect."""


def _external_ips(owner: Manifest) -> bool:
    service: Any = owner.get("service", {}).get("spec")
    return isinstance(service, dict) and service.get("externalIPs") is not None


NO_EXTERNAL_IPS = Rule(
    "",
    "externalIPs are dropped: they let a Service catch other people's traffic",
    holds=lambda spec: not _external_ips(spec),
    path=".service.spec.externalIPs",
    warning=True,
)


def _jwt_key(spec: Manifest) -> Any:
    return spec.get("jwtKeyRef", spec.get("jwtHs256KeyRef"))


def _cel_jwt_key(spec: str) -> str:
    return (
        f"(has({spec}.jwtKeyRef) ? [dyn({spec}.jwtKeyRef)] : "
        f"has({spec}.jwtHs256KeyRef) ? [dyn({spec}.jwtHs256KeyRef)] : [])"
    )


SAME_JWT_KEY = Change(
    f"{_cel_jwt_key('self')} == {_cel_jwt_key('oldSelf')}",
    "the JWT key cannot be changed",
    holds=lambda new, old: _jwt_key(new) == _jwt_key(old),
)


class JwtKeyed(Model, markers=(SAME_JWT_KEY,)):
    """A spec with a key that signs JSON web tokens."""

    jwt_hs256_key_ref: SecretKeyRef | None = None
    """Deprecated: the former name of jwtKeyRef, which wins when both are given."""
    jwt_key_ref: SecretKeyRef | None = None
    """Key that signs JSON web tokens (auth/jwt)."""

    @property
    def jwt_key(self) -> SecretKeyRef | None:
        """The key in force."""
        return self.jwt_key_ref or self.jwt_hs256_key_ref


class Keyed(
    JwtKeyed,
    markers=(
        Rule(
            "self.external || has(self.slurmKeyRef)",
            "slurmKeyRef is required unless external is true",
            holds=lambda spec: spec["external"] or "slurmKeyRef" in spec,
        ),
        Rule(
            "self.external || has(self.jwtKeyRef) || has(self.jwtHs256KeyRef)",
            "jwtKeyRef is required unless external is true",
            holds=lambda spec: spec["external"] or _jwt_key(spec) is not None,
        ),
        Rule(
            "!self.external || has(self.externalConfig)",
            "externalConfig is required when external is true",
            holds=lambda spec: not spec["external"] or "externalConfig" in spec,
        ),
    ),
):
    """A spec of a daemon that holds the cluster's keys, or runs outside Kubernetes."""

    slurm_key_ref: SecretKeyRef | None = None
    """Key shared by all Slurm daemons of the cluster (auth/slurm)."""
    jwks_key_ref: ConfigMapKeyRef | None = None
    """JSON web key set to check tokens of others with (auth/jwt)."""
    external: bool = False
    """Whether the daemon runs outside Kubernetes; nothing is deployed for it then."""
    external_config: External | None = None
    """Where the daemon answers when external is true."""
