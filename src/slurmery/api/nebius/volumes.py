"""Volumes of Slurm components: by name from `spec.volumeSources`, or as a claim made for each pod."""

from typing import Annotated

from pydantic import Field

from slurmery.api import core
from slurmery.api.fields import Inline, Items, Manifest, absent
from slurmery.api.nebius.kubernetes import PersistentVolumeClaimSpec, VolumeSource
from slurmery.api.resource import Inlining, Model
from slurmery.api.rules import Rule

_VOLUME_SOURCE = "io.k8s.api.core.v1.VolumeSource"
_SOURCES = tuple(core.definition(_VOLUME_SOURCE)["properties"])

SourceName = Annotated[str, Field(max_length=253)]


def _source_or_claim(source: str, given: str) -> Rule:
    return Rule(
        f"{given} != has(self.volumeClaimTemplateSpec)",
        f"give either {source} or volumeClaimTemplateSpec",
        holds=lambda volume: bool(volume.get(source)) != ("volumeClaimTemplateSpec" in volume),
    )


_NAME_OR_CLAIM = _source_or_claim(
    "volumeSourceName", "(has(self.volumeSourceName) && size(self.volumeSourceName) > 0)"
)
_SOURCE_OR_CLAIM = _source_or_claim("volumeSource", "has(self.volumeSource)")


class NamedVolumeSource(
    Inlining,
    markers=(
        Inline(_VOLUME_SOURCE),
        Rule(
            f"[{', '.join(f'has(self.{source})' for source in _SOURCES)}].filter(given, given).size() == 1",
            "must have exactly one volume source, such as persistentVolumeClaim",
            holds=lambda entry: sum(source in entry for source in _SOURCES) == 1,
        ),
    ),
):
    """A volume source with a name, written like a volume of a pod."""

    name: Annotated[str, Field(min_length=1, max_length=253)]
    """Name that components refer to."""

    @property
    def source(self) -> Manifest:
        """The source alone, without what charts write beside it."""
        return {name: value for name, value in self.inlined.items() if name in _SOURCES}


class NodeVolume(Model, markers=(_NAME_OR_CLAIM,)):
    """A volume: a named source or a claim for each pod, exactly one of them."""

    volume_source_name: SourceName = absent("")
    """Entry of `spec.volumeSources` to mount."""
    volume_claim_template_spec: PersistentVolumeClaimSpec | None = None
    """Claim to make for each pod."""


class NodeVolumeMount(NodeVolume):
    """A volume and where it is mounted: a named source or a claim for each pod, exactly one of them."""

    name: str
    """Name of the volume in the pod."""
    mount_path: str
    """Directory to mount it at."""
    sub_path: str = ""
    """Directory inside the volume to mount instead of its root."""
    read_only: bool = False
    """Whether the mount is read-only."""


class VolumeMountSource(Model, markers=(_SOURCE_OR_CLAIM,)):
    """A volume of a NodeSet and where it is mounted: a source or a claim for each pod, exactly one of
    them."""

    name: str
    """Name of the volume in the pod."""
    mount_path: str
    """Directory to mount it at."""
    sub_path: str = absent("")
    """Directory inside the volume to mount instead of its root."""
    read_only: bool = absent(False)
    """Whether the mount is read-only."""
    volume_source: VolumeSource | None = None
    """Source of the volume, the same for every pod."""
    volume_claim_template_spec: PersistentVolumeClaimSpec | None = None
    """Claim to make for each pod."""


# The limit keeps the cost of the rules on each mount within what the API server allows.
Mounts = Annotated[Items[NodeVolumeMount], Field(max_length=256)]
SourceMounts = Annotated[Items[VolumeMountSource], Field(max_length=256)]
