"""What volume claims belong to, and so when they go, as persistentVolumeClaimRetentionPolicy says it now.

    whenDeleted: Delete      the NodeSet owns its claims, and they go with it
    whenScaled: Delete       we delete the claims of a worker that is scaled in, and of no other

No pod ever owns a claim: upstream's operator lets a pod that is cordoned, for whatever reason, own its
claims, so that an update takes the data along. Such an owner is taken away.
"""

from collections.abc import Iterable
from typing import Any, Final

from slurmery.api.slinky import NodeSet
from slurmery.doors.conditions import Problem
from slurmery.doors.views import Claim
from slurmery.kube.meta import Key, Manifest, OwnerReference

_DELETE: Final = "Delete"
_KIND: Final = NodeSet.place.kind


def owners(nodeset: NodeSet) -> tuple[dict[str, Any], ...]:
    """The owners of a new claim."""
    if nodeset.spec.persistent_volume_claim_retention_policy.when_deleted != _DELETE:
        return ()
    return (
        {
            "apiVersion": nodeset.place.api_version,
            "kind": nodeset.place.kind,
            "name": nodeset.metadata.name,
            "uid": nodeset.metadata.uid,
        },
    )


def changes(nodeset: NodeSet, claims: Iterable[Claim]) -> dict[Key, Manifest]:
    """The strategic merge patches of claims whose owners are not as the policy says, by claim."""
    found: dict[Key, Manifest] = {}
    for claim in claims:
        if not claim.deleting and (references := _changes(nodeset, claim)):
            patch = {"metadata": {"uid": claim.metadata.uid, "ownerReferences": references}}
            found[claim.key] = patch
    return found


def contested(nodeset: NodeSet, claims: Iterable[Claim]) -> list[Problem]:
    """The claims that should go with the NodeSet, but that something else controls; they are left to it."""
    return [
        Problem(
            "ConflictingController",
            f"Claim {claim.metadata.name} stays when the NodeSet is deleted:"
            f" {claim.controller.kind} {claim.controller.name} controls it.",
        )
        for claim in claims
        if claim.controller and _foreign(claim) and owners(nodeset)
    ]


def _changes(nodeset: NodeSet, claim: Claim) -> list[dict[str, Any]]:
    present = claim.metadata.owner_references or ()
    ours = [each for each in present if each.uid == nodeset.metadata.uid]
    wanted = () if _foreign(claim) else owners(nodeset)
    lost = [*(each for each in present if _worker(each)), *(() if wanted else ours)]
    return [*({"$patch": "delete", "uid": each.uid} for each in lost), *(() if ours else wanted)]


def _foreign(claim: Claim) -> bool:
    return claim.controller is not None and not _worker(claim.controller) and claim.controller.kind != _KIND


def _worker(owner: OwnerReference) -> bool:
    return (owner.api_version, owner.kind) == ("v1", "Pod")
