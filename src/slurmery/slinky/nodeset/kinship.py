"""Which pods are a NodeSet's, and what keeps them alive.

    controlled by it, with its labels          its worker
    controlled by nobody, its labels and name  adopted: an earlier NodeSet was deleted with --cascade=orphan
    controlled by it, other labels             released: a person took the pod out, to look at it

A NodeSet that is deleted in the foreground (Argo CD does that) would have its pods deleted by Kubernetes at
once, jobs or not. They live on because they belong to a second object, too, that nobody deletes: every
namespace has the ConfigMap `kube-root-ca.crt`. Kubernetes then only takes the NodeSet from their owners; they
are still found by their labels and name, and end when they are drained, like in any other deletion.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from slurmery.api.slinky import NodeSet
from slurmery.doors.pods import WorkerPod
from slurmery.kube.meta import Key, Manifest, View
from slurmery.slinky import names
from slurmery.slinky.nodeset.observe import DAEMON_SET
from slurmery.slinky.nodeset.pods import owner

ANCHOR: Final = "kube-root-ca.crt"


def anchor_of(config_map: View | None) -> tuple[Mapping[str, Any], ...]:
    """The reference to the object that pods outlive their NodeSet by; none where there is no such object."""
    if config_map is None:
        return ()
    return ({"apiVersion": "v1", "kind": "ConfigMap", "name": ANCHOR, "uid": config_map.metadata.uid},)


def anchored(pod: Manifest, anchor: Sequence[Manifest]) -> Manifest:
    """A pod that also belongs to the anchor."""
    metadata = pod["metadata"]
    return {**pod, "metadata": {**metadata, "ownerReferences": [*metadata["ownerReferences"], *anchor]}}


def orphaned(nodeset: NodeSet, pod: WorkerPod) -> bool:
    """Whether nobody controls the pod, and it is one of the NodeSet's by its labels and its name."""
    return pod.controller is None and _labelled(nodeset, pod) and _named(nodeset, pod)


def changes(
    nodeset: NodeSet, own: Iterable[WorkerPod], orphans: Iterable[WorkerPod], anchor: Sequence[Manifest]
) -> dict[Key, Manifest]:
    """The strategic merge patches that make pods belong where they should, by pod."""
    lost = {"$patch": "delete", "uid": nodeset.metadata.uid}
    needed: list[tuple[WorkerPod, list[Manifest]]] = []
    for pod in (each for each in own if not each.deleting):
        missing = [each for each in anchor if each["uid"] not in _owners(pod)]
        needed.append((pod, missing if _labelled(nodeset, pod) else [lost]))
    adopted = (pod for pod in orphans if orphaned(nodeset, pod) and not pod.deleting)
    needed += [(pod, [owner(nodeset), *anchor]) for pod in adopted]
    return {
        pod.key: {"metadata": {"uid": pod.metadata.uid, "ownerReferences": references}}
        for pod, references in needed
        if references
    }


def _labelled(nodeset: NodeSet, pod: WorkerPod) -> bool:
    return names.selector(names.SLURMD, nodeset.metadata.name).items() <= pod.labels.items()


def _named(nodeset: NodeSet, pod: WorkerPod) -> bool:
    mode = pod.labels.get(names.SCALING_MODE_LABEL, nodeset.spec.scaling_mode)
    if mode == DAEMON_SET:
        return pod.metadata.generate_name == f"{nodeset.metadata.name}-"
    parent, _, digits = pod.metadata.name.rpartition("-")
    return parent == nodeset.metadata.name and digits.isdecimal()


def _owners(pod: WorkerPod) -> set[str]:
    return {each.uid for each in pod.metadata.owner_references or ()}
