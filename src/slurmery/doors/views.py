"""What the caches keep of objects, and how a custom resource is read as its model."""

from collections.abc import Mapping
from typing import Any, TypeVar

import msgspec

from slurmery.api.resource import CustomResource
from slurmery.doors.conditions import Rollout
from slurmery.kube.meta import Manifest, ObjectMeta, Resource, View
from slurmery.kube.ownership import Footprint

M = TypeVar("M", bound=CustomResource)


def resource(kind: type[CustomResource]) -> Resource:
    """Where the API server serves a kind."""
    place = kind.place
    return Resource(place.group, place.version, place.plural, place.kind)


class Custom(View, frozen=True, gc=False):
    """A custom resource of any kind, as it was written."""

    spec: dict[str, Any] = msgspec.field(default_factory=dict)
    status: dict[str, Any] | None = None


def read(kind: type[M], view: Custom) -> M:
    """The model. Raises ValueError if the object does not fit it: a CRD that is not ours let it in."""
    return kind.model_validate(manifest(kind, view))


def manifest(kind: type[CustomResource], view: Custom) -> Manifest:
    """The object as JSON."""
    return {
        "apiVersion": kind.place.api_version,
        "kind": kind.place.kind,
        "metadata": msgspec.to_builtins(view.metadata),
        "spec": view.spec,
        "status": view.status,
    }


class _Pods(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    observed_generation: int = 0
    replicas: int = 0
    ready_replicas: int = 0
    updated_replicas: int = 0
    update_revision: str = ""


class _Template(msgspec.Struct, frozen=True, gc=False):
    metadata: ObjectMeta = ObjectMeta()


class _WorkloadSpec(msgspec.Struct, frozen=True, gc=False):
    replicas: int = 1
    template: _Template = _Template()


class Workload(Footprint, frozen=True, gc=False):
    """A StatefulSet or Deployment of ours."""

    spec: _WorkloadSpec = _WorkloadSpec()
    status: _Pods = _Pods()

    @property
    def template_annotations(self) -> Mapping[str, str]:
        """What its pods are made with."""
        return self.spec.template.metadata.annotations or {}

    @property
    def seen(self) -> bool:
        """Whether its controller knows its spec."""
        return self.status.observed_generation >= (self.metadata.generation or 0)

    @property
    def revision(self) -> str:
        """What a StatefulSet labels its new pods with; empty while it does not know its spec yet."""
        return self.status.update_revision if self.seen else ""

    @property
    def rollout(self) -> Rollout:
        """What it reports of its pods."""
        status = self.status
        return Rollout(
            generation=self.metadata.generation or 0,
            observed_generation=status.observed_generation,
            replicas=status.replicas,
            ready=status.ready_replicas,
            updated=status.updated_replicas,
        )


class _PodCondition(msgspec.Struct, frozen=True, gc=False):
    type: str
    status: str


class _PodStatus(msgspec.Struct, frozen=True, gc=False):
    conditions: tuple[_PodCondition, ...] | None = None


class Pod(View, frozen=True, gc=False):
    """A pod, and whether it is ready."""

    status: _PodStatus = _PodStatus()

    @property
    def ready(self) -> bool:
        return any(each.type == "Ready" and each.status == "True" for each in self.status.conditions or ())


class _ClaimSpec(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    access_modes: tuple[str, ...] | None = None


class Claim(View, frozen=True, gc=False):
    """A PersistentVolumeClaim, and who may mount it."""

    spec: _ClaimSpec = _ClaimSpec()

    @property
    def modes(self) -> frozenset[str]:
        return frozenset(self.spec.access_modes or ())
