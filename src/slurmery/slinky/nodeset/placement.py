"""On which Kubernetes nodes may a pod of the template run? Asked once per node.

by name, selector, required affinity     as the scheduler reads them
by taints                                new pods need all NoSchedule and NoExecute taints tolerated;
                                         pods that run already only the NoExecute ones
"""

from collections.abc import Collection, Iterable, Mapping
from typing import Any, Final

from slurmery.slinky.nodeset.views import Host, Taint

PodSpec = Mapping[str, Any]

# Daemon pods tolerate it: to a cordoned node a worker comes back too, and Slurm has drained it by then.
_CORDON: Final = {"key": "node.kubernetes.io/unschedulable", "operator": "Exists"}


def eligible(spec: PodSpec, hosts: Iterable[Host], occupied: Collection[str]) -> frozenset[str]:
    """The nodes that should have a daemon pod; those that are `occupied` have one already."""
    tolerant = {**spec, "tolerations": [*(spec.get("tolerations") or ()), _CORDON]}
    return frozenset(
        host.metadata.name
        for host in hosts
        if not host.deleting and fits(tolerant, host, running=host.metadata.name in occupied)
    )


def fits(spec: PodSpec, host: Host, *, running: bool = False) -> bool:
    """Whether a pod may come to a node, or stay there if it is `running`."""
    return _chosen(spec, host) and all(
        any(_tolerates(each, taint) for each in spec.get("tolerations") or ())
        for taint in host.spec.taints or ()
        if taint.effect == "NoExecute" or (taint.effect == "NoSchedule" and not running)
    )


def _chosen(spec: PodSpec, host: Host) -> bool:
    if spec.get("nodeName") not in (None, "", host.metadata.name):
        return False
    if not (spec.get("nodeSelector") or {}).items() <= host.labels.items():
        return False
    affinity = (spec.get("affinity") or {}).get("nodeAffinity") or {}
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution")
    if not required:
        return True
    return any(_matches(term, host) for term in required.get("nodeSelectorTerms") or ())


def _matches(term: Mapping[str, Any], host: Host) -> bool:
    """A term without any requirement matches nothing."""
    labels, fields = term.get("matchExpressions") or (), term.get("matchFields") or ()
    name = {"metadata.name": host.metadata.name}
    return bool(labels or fields) and (
        all(_holds(each, host.labels) for each in labels) and all(_holds(each, name) for each in fields)
    )


def _holds(requirement: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    value, wanted = labels.get(requirement["key"]), requirement.get("values") or ()
    match requirement.get("operator"):
        case "In":
            return value in wanted
        case "NotIn":
            return value not in wanted
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
        case "Gt" | "Lt" as way if value and value.lstrip("-").isdecimal() and wanted:
            return int(value) > int(wanted[0]) if way == "Gt" else int(value) < int(wanted[0])
        case _:
            return False


def _tolerates(toleration: Mapping[str, Any], taint: Taint) -> bool:
    if (toleration.get("effect") or taint.effect) != taint.effect:
        return False
    key = toleration.get("key") or ""
    if toleration.get("operator") == "Exists":
        return key in ("", taint.key)
    return key == taint.key and (toleration.get("value") or "") == taint.value
