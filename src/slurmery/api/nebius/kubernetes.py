"""Kubernetes' own types as these kinds embed them: full schemas for users, plain dicts for us."""

from typing import Annotated

from slurmery.api.fields import Core, Manifest, Quantity

_CORE = "io.k8s.api.core.v1."

Affinity = Annotated[Manifest, Core(f"{_CORE}Affinity")]
Container = Annotated[Manifest, Core(f"{_CORE}Container")]
EnvVar = Annotated[Manifest, Core(f"{_CORE}EnvVar")]
LocalObjectReference = Annotated[Manifest, Core(f"{_CORE}LocalObjectReference")]
PersistentVolumeClaimSpec = Annotated[Manifest, Core(f"{_CORE}PersistentVolumeClaimSpec")]
PodSecurityContext = Annotated[Manifest, Core(f"{_CORE}PodSecurityContext")]
Probe = Annotated[Manifest, Core(f"{_CORE}Probe")]
ResourceRequirements = Annotated[Manifest, Core(f"{_CORE}ResourceRequirements")]
SecurityContext = Annotated[Manifest, Core(f"{_CORE}SecurityContext")]
Toleration = Annotated[Manifest, Core(f"{_CORE}Toleration")]
Volume = Annotated[Manifest, Core(f"{_CORE}Volume")]
VolumeMount = Annotated[Manifest, Core(f"{_CORE}VolumeMount")]
VolumeSource = Annotated[Manifest, Core(f"{_CORE}VolumeSource")]

ResourceList = dict[str, Quantity]
