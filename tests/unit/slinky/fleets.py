"""Worker pods, Kubernetes nodes and Slurm's answers, as tests need them."""

from typing import Any

import msgspec

from slurmery.doors.pods import WorkerPod
from slurmery.slinky import names
from slurmery.slinky.nodeset.views import Host
from slurmery.slurm.model import Node
from slurmery.slurm.snapshot import Snapshot, View

REVISION = "new"
READY = {"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}
READY_AT = 1767225600.0


def pod(
    name: str = "gpu-0",
    *,
    labels: dict[str, str] | None = None,
    annotations: dict[str, str] | None = None,
    conditions: tuple[dict[str, str], ...] = (READY,),
    phase: str = "Running",
    deleting: bool = False,
    owners: tuple[dict[str, Any], ...] = (),
    **spec: Any,
) -> WorkerPod:
    """A healthy pod of the newest revision on node `h1`, unless said otherwise."""
    metadata: dict[str, Any] = {
        "name": name,
        "namespace": "slurm",
        "uid": f"uid-{name}",
        "labels": {
            names.HASH_LABEL: REVISION,
            names.POD_INDEX_LABEL: name.rpartition("-")[2],
            **(labels or {}),
        },
        "annotations": annotations or {},
        "generateName": "gpu-",
        "ownerReferences": list(owners),
        **({"deletionTimestamp": "2026-01-02T00:00:00Z"} if deleting else {}),
    }
    made = {
        "metadata": metadata,
        "spec": {"nodeName": "h1", "hostname": name, **spec},
        "status": {"phase": phase, "conditions": list(conditions)},
    }
    return msgspec.convert(made, WorkerPod)


def host(
    name: str = "h1",
    *,
    labels: dict[str, str] | None = None,
    annotations: dict[str, str] | None = None,
    conditions: tuple[dict[str, str], ...] = (),
    **spec: Any,
) -> Host:
    metadata = {"name": name, "labels": labels or {}, "annotations": annotations or {}}
    return msgspec.convert(
        {"metadata": metadata, "spec": spec, "status": {"conditions": list(conditions)}}, Host
    )


def snapshot(*nodes: Node, taken_at: float = 100.0, error: str = "", **parts: Any) -> Snapshot:
    lists = {"jobs": View({}, taken_at, error), **parts}
    return Snapshot(nodes=View({node.name: node for node in nodes}, taken_at, error), **lists)


def node(name: str = "gpu-0", *state: str, reason: str = "", **facts: Any) -> Node:
    return Node(name=name, state=state or ("IDLE",), reason=reason, **facts)
