"""One worker's pod: the template plus what makes it this worker.

    StatefulSet mode    a number: pod gpu-003, host gpu-003 (or the template's hostname and 003)
    DaemonSet mode      a Kubernetes node: one pod each, its host named like the node or its override

The scheduler places all of them, daemon pods by an affinity to their node: priorities and resources count.
"""

import base64
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from slurmery.api.slinky import NodeSet
from slurmery.slinky import names
from slurmery.slinky.nodeset import claims

_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"

# As DaemonSets have it: on a cordoned node a pod comes back too, and Slurm has drained it by then.
_ON_CORDONED_NODES: Final = {
    "key": "node.kubernetes.io/unschedulable",
    "operator": "Exists",
    "effect": "NoSchedule",
}
_ONE_PER_NODE: Final = {
    "topologyKey": names.HOSTNAME_TOPOLOGY,
    "labelSelector": {
        "matchExpressions": [{"key": names.NAME_LABEL, "operator": "In", "values": [names.SLURMD.name]}]
    },
}


def numbered(
    nodeset: NodeSet, template: Mapping[str, Any], revision: str, ordinal: int, node: str | None = None
) -> dict[str, Any]:
    """The pod of a number; `node` is where it is pinned to."""
    index = padded(nodeset, ordinal)
    name = ordinal_name(nodeset, ordinal)
    prefix = nodeset.spec.template.spec.get("hostname")
    hostname = f"{prefix}{index}" if prefix else name
    labels = {names.POD_NAME_LABEL: name, names.POD_INDEX_LABEL: index}
    return _pod(nodeset, template, revision, _Identity(name, hostname, index, labels, node))


def daemon(
    nodeset: NodeSet, template: Mapping[str, Any], revision: str, node: str, override: str = ""
) -> dict[str, Any]:
    """The pod of a Kubernetes node; `override` is the node's annotation for the host name.

    Its name is made from the node's, so that however often it is asked for, it comes but once.
    """
    hostname = override or node.partition(".")[0]
    name = f"{nodeset.metadata.name}-{_digest(node)}"
    identity = _Identity(name, hostname, hostname, {names.POD_NAME_LABEL: name}, node)
    pod = _pod(nodeset, template, revision, identity)
    tolerations = [*pod["spec"].get("tolerations", []), _ON_CORDONED_NODES]
    # Upstream recognises an orphan of this mode by its generateName.
    metadata = {**pod["metadata"], "generateName": f"{nodeset.metadata.name}-"}
    return {**pod, "metadata": metadata, "spec": {**pod["spec"], "tolerations": tolerations}}


def padded(nodeset: NodeSet, ordinal: int) -> str:
    """A number as names carry it."""
    return str(ordinal).zfill(nodeset.spec.ordinal_padding)


def ordinal_name(nodeset: NodeSet, ordinal: int) -> str:
    """The name of the pod of a number."""
    return f"{nodeset.metadata.name}-{padded(nodeset, ordinal)}"


@dataclass(frozen=True)
class _Identity:
    """What tells one worker from another; `claim` is the end of its claims' names."""

    name: str
    hostname: str
    claim: str
    labels: Mapping[str, str]
    node: str | None


def _pod(nodeset: NodeSet, template: Mapping[str, Any], revision: str, identity: _Identity) -> dict[str, Any]:
    metadata = template["metadata"]
    labels = {
        **metadata["labels"],
        **identity.labels,
        names.POD_HOSTNAME_LABEL: identity.hostname,
        names.SCALING_MODE_LABEL: nodeset.spec.scaling_mode,
        names.HASH_LABEL: revision,
    }
    spec = {name: value for name, value in template["spec"].items() if name != "nodeName"}
    spec |= {"hostname": identity.hostname}
    affinity = _affinity(nodeset, spec.get("affinity", {}), identity.node)
    volumes = _volumes(spec["volumes"], claims.volumes(nodeset, identity.claim))
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": identity.name,
            "namespace": nodeset.metadata.namespace,
            "labels": labels,
            "annotations": metadata["annotations"],
            "ownerReferences": [owner(nodeset)],
        },
        "spec": {**spec, "volumes": volumes, **({"affinity": affinity} if affinity else {})},
    }


def owner(nodeset: NodeSet) -> dict[str, Any]:
    """The reference by which something is a NodeSet's."""
    return {
        "apiVersion": nodeset.place.api_version,
        "kind": nodeset.place.kind,
        "name": nodeset.metadata.name,
        "uid": nodeset.metadata.uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }


def _affinity(nodeset: NodeSet, given: Mapping[str, Any], node: str | None) -> dict[str, Any]:
    affinity = dict(given)
    if not nodeset.spec.oversubscribe_node:
        apart = affinity.get("podAntiAffinity", {})
        terms = [*apart.get(_REQUIRED, []), _ONE_PER_NODE]
        affinity["podAntiAffinity"] = {**apart, _REQUIRED: terms}
    if node:
        affinity["nodeAffinity"] = {**affinity.get("nodeAffinity", {}), _REQUIRED: _only(node)}
    return affinity


def _only(node: str) -> dict[str, Any]:
    field = {"key": "metadata.name", "operator": "In", "values": [node]}
    return {"nodeSelectorTerms": [{"matchFields": [field]}]}


def _volumes(common: list[dict[str, Any]], own: list[dict[str, Any]]) -> list[dict[str, Any]]:
    replaced = {volume["name"] for volume in own}
    return [*(volume for volume in common if volume["name"] not in replaced), *own]


def _digest(node: str) -> str:
    return base64.b32encode(hashlib.sha256(node.encode()).digest()).decode().lower()[:10]
