"""Pods of an ephemeral NodeSet: those of its StatefulSet, had one StatefulSet holes in its numbers.

Their claims come and go with them.
"""

import json
from collections.abc import Mapping
from typing import Any, Final

from slurmery.doors import hashes
from slurmery.kube.meta import Manifest
from slurmery.nebius.cluster import Cluster, Workers
from slurmery.nebius.nodeset import build

_REVISION: Final = "controller-revision-hash"


def revision(cluster: Cluster, workers: Workers, versions: Mapping[str, str]) -> str:
    """What changes with whatever pods are made from."""
    template = build.stateful_set(cluster, workers, 0, versions).manifest["spec"]["template"]
    return hashes.of_value(json.dumps(template, sort_keys=True, default=str))[:10]


def pod(
    cluster: Cluster, workers: Workers, versions: Mapping[str, str], owner: Manifest, ordinal: int
) -> Manifest:
    """The pod of an ordinal, under the name that Slurm calls its node by."""
    spec = build.stateful_set(cluster, workers, 0, versions).manifest["spec"]
    template, name = spec["template"], f"{workers.name}-{ordinal}"
    claims: list[dict[str, Any]] = [_volume(each) for each in spec.get("volumeClaimTemplates", ())]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            **template["metadata"],
            "name": name,
            "namespace": cluster.names.namespace,
            "labels": {
                **template["metadata"]["labels"],
                _REVISION: revision(cluster, workers, versions),
                "apps.kubernetes.io/pod-index": str(ordinal),
                "statefulset.kubernetes.io/pod-name": name,
            },
            "ownerReferences": [owner],
        },
        "spec": {
            **template["spec"],
            "hostname": name,
            "subdomain": cluster.names.nodeset_service,
            "volumes": [*template["spec"].get("volumes", ()), *claims],
        },
    }


def _volume(claim: Manifest) -> dict[str, Any]:
    made = {"metadata": {"labels": claim["metadata"].get("labels", {})}, "spec": claim["spec"]}
    return {"name": claim["metadata"]["name"], "ephemeral": {"volumeClaimTemplate": made}}


def owner_reference(api_version: str, workers: Workers, uid: str) -> Manifest:
    """Who the pods belong to."""
    return {
        "apiVersion": api_version,
        "kind": "NodeSet",
        "name": workers.name,
        "uid": uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }
