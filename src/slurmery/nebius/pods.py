"""Pods around their containers: where they may run, what they are called by, and what makes them restart."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from slurmery.kube.meta import Manifest
from slurmery.nebius import names
from slurmery.nebius.cluster import Cluster
from slurmery.nebius.errors import SpecError


class Placed(Protocol):
    """What every component says about its pods."""

    @property
    def k8s_node_filter_name(self) -> str: ...
    @property
    def priority_class(self) -> str: ...
    @property
    def host_users(self) -> bool | None: ...


class Pulled(Protocol):
    """Whatever has an image."""

    @property
    def image_pull_secrets(self) -> Sequence[Manifest]: ...


@dataclass(frozen=True)
class Part:
    """A component of the cluster: its name in labels, its field in the spec, and what that says."""

    component: str
    field: str
    placed: Placed
    pulled: tuple[Pulled | None, ...] = ()


def placement(cluster: Cluster, part: Part, *, optional: bool = False) -> dict[str, Any]:
    """Where pods may run, as the filter that the component names says; `optional` ones may run anywhere."""
    wanted = part.placed.k8s_node_filter_name
    for each in cluster.spec.k8s_node_filters:
        if each.name == wanted:
            found = {
                "affinity": each.affinity,
                "nodeSelector": dict(each.node_selector),
                "tolerations": list(each.tolerations),
            }
            return {field: value for field, value in found.items() if value}
    if optional:
        return {}
    raise SpecError(f"{part.field}.k8sNodeFilterName: {wanted!r} is not the name of one of k8sNodeFilters")


def pod_spec(cluster: Cluster, part: Part, own: Manifest, *, optional: bool = False) -> dict[str, Any]:
    """The spec of a component's pod; `own` are its containers and volumes."""
    placed = part.placed
    spec: dict[str, Any] = {
        **placement(cluster, part, optional=optional),
        "priorityClassName": placed.priority_class,
        "imagePullSecrets": _pull_secrets(part.pulled),
        **own,
    }
    if placed.host_users is not None:
        spec["hostUsers"] = placed.host_users
    return {field: value for field, value in spec.items() if value not in ("", [], {}, None)}


def template(labels: Mapping[str, str], annotations: Mapping[str, str], spec: Manifest) -> dict[str, Any]:
    """A pod template."""
    metadata: dict[str, Any] = {"labels": dict(labels)}
    if annotations:
        metadata["annotations"] = dict(annotations)
    return {"metadata": metadata, "spec": spec}


def annotations(cluster: Cluster, container: str, versions: Mapping[str, str]) -> dict[str, str]:
    """What kubectl takes for the main container, and hashes of what pods read only when they start.

    `versions` has a hash by the name of each Secret or ConfigMap; a new one means new pods.
    """
    listed = "".join(f"{cluster.names.namespace}.{name}: {versions[name]}\n" for name in sorted(versions))
    return {names.DEFAULT_CONTAINER: container, **({names.VERSIONS: listed} if listed else {})}


def searches(cluster: Cluster) -> dict[str, Any]:
    """DNS by which workers and login nodes are found by bare host name."""
    at = cluster.names
    workers = at.worker_service if cluster.is_1_22 else at.nodeset_service
    found = [at.fqdn(workers), at.fqdn(at.login_headless_service)]
    return {"dnsPolicy": "ClusterFirst", "dnsConfig": {"searches": found}}


def _pull_secrets(pulled: Iterable[Pulled | None]) -> list[Manifest]:
    found: list[Manifest] = []
    for each in pulled:
        found += [secret for secret in (each.image_pull_secrets if each else ()) if secret not in found]
    return found
