"""The volume claims of workers: every worker has its own copy of each volumeClaimTemplate.

A claim outlives its pod and is found again by its name: `<template>-<nodeset>-<identity>`, where the identity
is the padded ordinal, or the host name in DaemonSet mode. Who owns a claim, and so when it goes, is decided
with the scaling.
"""

from collections.abc import Mapping
from typing import Any

from slurmery.api.slinky import NodeSet
from slurmery.doors.merge import MergeError
from slurmery.slinky import names
from slurmery.slinky.volumes import claimed


def templates(nodeset: NodeSet) -> dict[str, dict[str, Any]]:
    """The claim templates by name."""
    path, given = "spec.volumeClaimTemplates", nodeset.spec.volume_claim_templates or []
    if not isinstance(given, list):
        raise MergeError(f"{path} must be a list")
    found: dict[str, dict[str, Any]] = {}
    for index, template in enumerate(given):
        name = _metadata(template).get("name")
        if not name:
            raise MergeError(f"{path}[{index}] needs a metadata.name")
        if name in found:
            raise MergeError(f"{path}[{index}]: the name {name} is there twice")
        found[name] = template
    return found


def build(nodeset: NodeSet, identity: str) -> tuple[dict[str, Any], ...]:
    """The claims of one worker."""
    operator = names.selector(names.SLURMD, nodeset.metadata.name)
    return tuple(
        {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": {
                "name": name_of(template, nodeset, identity),
                "namespace": nodeset.metadata.namespace,
                "labels": {**(_metadata(claim).get("labels") or {}), **operator},
                "annotations": dict(_metadata(claim).get("annotations") or {}),
            },
            "spec": claim.get("spec") or {},
        }
        for template, claim in templates(nodeset).items()
    )


def name_of(template: str, nodeset: NodeSet, identity: str) -> str:
    """The name of one worker's claim."""
    return f"{template}-{nodeset.metadata.name}-{identity}"


def volumes(nodeset: NodeSet, identity: str) -> list[dict[str, Any]]:
    """The volumes of one worker that its claims fill; they replace those of the same name."""
    return [claimed(template, name_of(template, nodeset, identity)) for template in templates(nodeset)]


def _metadata(template: Any) -> Mapping[str, Any]:
    metadata = template.get("metadata") if isinstance(template, Mapping) else None
    return metadata if isinstance(metadata, Mapping) else {}
