"""The place of a worker in the network, known at the moment its pod is bound to a node.

The annotation goes on the Binding itself: the API server copies it to the pod as it binds it, in one step, so
that the kubelet never starts a worker without it. Whatever goes wrong here, the pod is bound; the NodeSet
controller adds what is missing later.
"""

from typing import Any

from slurmery.admission.lookups import Answers, Seen, Want
from slurmery.admission.review import ALLOWED, Operation, Request, Verdict
from slurmery.kube.meta import Key
from slurmery.kube.resources import NODES, PODS
from slurmery.slinky.names import NAME_LABEL, SLURMD, TOPOLOGY_SPEC


def wants(request: Request) -> list[Want]:
    node = _part(request.object, "target").get("name")
    if request.operation != "CREATE" or not request.name or not isinstance(node, str) or not node:
        return []
    return [Want(PODS, Key(request.namespace, request.name)), Want(NODES, Key("", node))]


def judge(request: Request, answers: Answers) -> Verdict:
    seen = {want.resource: answer for want, answer in answers.items()}
    pod, node = seen.get(PODS), seen.get(NODES)
    if not isinstance(pod, Seen) or pod.labels.get(NAME_LABEL) != SLURMD.name or not isinstance(node, Seen):
        return ALLOWED
    value = node.annotations.get(TOPOLOGY_SPEC, "")
    annotations = _part(_part(request.object, "metadata"), "annotations")
    path = ("metadata", "annotations")
    if annotations:
        return Verdict(patch=(Operation((*path, TOPOLOGY_SPEC), value),))
    return Verdict(patch=(Operation(path, {TOPOLOGY_SPEC: value}),))


def _part(value: Any, name: str) -> dict[str, Any]:
    part = value.get(name) if isinstance(value, dict) else None
    return part if isinstance(part, dict) else {}
