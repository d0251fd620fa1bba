"""StatefulSets of the daemons: Kubernetes' own or, where the operator is told so, those of OpenKruise.

Both have the same names and the same pods, and no worker is replaced by either. So a cluster can change from
one to the other while it runs, and one that upstream's operator made with OpenKruise can be taken over: the
new StatefulSet is made, the old one is deleted without its pods, and the new one adopts them.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from enum import StrEnum
from typing import Any, Final

from slurmery.doors.cache import Cache
from slurmery.doors.conditions import Problem
from slurmery.doors.views import Workload
from slurmery.kube.client import Client
from slurmery.kube.desired import Desired, Policy
from slurmery.kube.errors import ConflictError, NotFoundError
from slurmery.kube.logs import logger
from slurmery.kube.meta import Key, Manifest, Resource
from slurmery.kube.resources import STATEFUL_SETS

log = logger("statefulsets")

KRUISE: Final = Resource("apps.kruise.io", "v1beta1", "statefulsets", "StatefulSet")


# Hands over the pods of an owner, by its uid, under these names.
LetGo = Callable[[str, Iterable[Key]], Awaitable[None]]


class Api(StrEnum):
    """Whose StatefulSets are made."""

    NATIVE = "native"
    KRUISE = "kruise"

    @property
    def resource(self) -> Resource:
        return KRUISE if self is Api.KRUISE else STATEFUL_SETS


MISSING: Final = Problem(
    "KruiseNotInstalled",
    "The operator was started with --statefulset-api=kruise, but statefulsets.apps.kruise.io is not served "
    "here: install OpenKruise, or start it with --statefulset-api=native.",
)

# A worker that comes back prefers the Kubernetes node that it was on.
STAYING: Final = {
    "kruise.io/auto-generate-persistent-pod-state": "true",
    "kruise.io/preferred-persistent-topology": "kubernetes.io/hostname",
}
_BY_HAND: Final = {
    "updateStrategy": {"type": "OnDelete"},
    "volumeClaimUpdateStrategy": {"type": "OnPVCDelete"},
}


def replaced(*, in_place: bool) -> Manifest:
    """How Kruise replaces pods that hold no jobs: one after the other, `in_place` if only images changed."""
    rolling = {
        "maxUnavailable": 1,
        "partition": 0,
        "minReadySeconds": 0,
        "podUpdatePolicy": "InPlaceIfPossible" if in_place else "ReCreate",
    }
    return {
        "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": rolling},
        "volumeClaimUpdateStrategy": {"type": "OnPodRollingUpdate"},
    }


def kept(max_unavailable: int | str) -> Manifest:
    """How Kruise keeps workers: it takes none away for a change, and only so many at once when it shrinks."""
    return {**_BY_HAND, "scaleStrategy": {"maxUnavailable": max_unavailable}}


def stateful_set(resource: Resource, manifest: Manifest, kruise: Mapping[str, Any]) -> Desired:
    """A StatefulSet of either API; `kruise` is what its spec says in that one, and only there."""
    if resource == KRUISE:
        spec = {**manifest["spec"], **kruise}
        manifest = {**manifest, "apiVersion": KRUISE.api_version, "spec": _gated(spec)}
    return Desired(resource, manifest, Policy.RECREATE_ORPHANING)


def _gated(spec: dict[str, Any]) -> dict[str, Any]:
    """Pods that may be changed in place are not ready while they are."""
    if spec["updateStrategy"].get("rollingUpdate", {}).get("podUpdatePolicy") != "InPlaceIfPossible":
        return spec
    pod = {**spec["template"]["spec"], "readinessGates": [{"conditionType": "InPlaceUpdateReady"}]}
    return {**spec, "template": {**spec["template"], "spec": pod}}


async def let_go(
    client: Client,
    caches: Mapping[Resource, Cache[Workload]],
    used: Resource,
    owner: str,
    keys: Iterable[Key],
) -> None:
    """Delete StatefulSets of the other API that this owner has under these names, but not their pods."""
    other = STATEFUL_SETS if used == KRUISE else KRUISE
    for key in keys:
        old, new = caches[other].get(key), caches[used].get(key)
        if old is None or old.deleting or old.controller is None or old.controller.uid != owner:
            continue
        if new is None or not new.seen:
            continue  # nobody would look after the pods
        try:
            await client.delete(other, key, uid=old.metadata.uid, propagation="Orphan")
        except (NotFoundError, ConflictError):
            continue
        log.info("Pods are handed over", stateful_set=str(key), to=used.api_version)
