"""What to do about a NodeSet, and what to say about it. Pure."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Final

from slurmery.api.slinky import NodeSet
from slurmery.doors.conditions import Problem
from slurmery.doors.merge import MergeError
from slurmery.kube.meta import Key, Manifest
from slurmery.slinky import names
from slurmery.slinky.nodeset import bonds, claims, pins, placement, pods, slurmd, template
from slurmery.slinky.nodeset.gather import Gathered
from slurmery.slinky.nodeset.kinship import anchored
from slurmery.slinky.nodeset.observe import DAEMON_SET, Scene, observe, of_mode
from slurmery.slinky.nodeset.status import Standing
from slurmery.slinky.nodeset.wish import decide as plan
from slurmery.slinky.nodeset.wish import wish
from slurmery.slurm.snapshot import NEVER, Snapshot
from slurmery.workers.model import Plan, Slot, Worker

_UNASKED: Final = Snapshot().nodes.error
_DELETE: Final = "Delete"


@dataclass(frozen=True)
class Decision:
    """The next steps, and how things stand. Without a template, no pod can be made."""

    plan: Plan
    standing: Standing
    template: Mapping[str, Any] | None = None


def decide(nodeset: NodeSet, seen: Gathered) -> Decision:
    """From all that is known. While no pod could be made, none is replaced either."""
    made, blocked = _template(nodeset, seen)
    contents = template.content_hashes(nodeset, seen.observed) if made and seen.observed else {}
    digest = seen.newest.digest
    scene = Scene(nodeset, digest, contents, seen.hosts, seen.slurm, seen.now)
    workers = observe(scene, [pod for pod in seen.pods.values() if of_mode(nodeset, pod)])
    others = observe(scene, [pod for pod in seen.pods.values() if not of_mode(nodeset, pod)])
    hosts = _hosts(nodeset, seen, made, workers)
    wanted = wish(nodeset, digest, hosts)
    steps = plan(replace(wanted, strategy="OnDelete") if blocked else wanted, workers, others)
    standing = Standing(
        workers=(*workers, *others),
        desired=0 if wanted.deleting else len(hosts) if hosts is not None else wanted.replicas,
        revision=digest,
        collisions=seen.newest.collisions,
        waits=steps.waits,
        problems=_problems(nodeset, seen),
        blocked=() if wanted.deleting else blocked,
        pins=_pins(nodeset, seen, made, workers),
        asked=seen.slurm.snapshot.nodes.taken_at > NEVER,
    )
    return Decision(replace(steps, create=()) if blocked else steps, standing, made)


def pod(nodeset: NodeSet, seen: Gathered, decision: Decision, slot: Slot) -> Manifest:
    """The pod of a slot."""
    common, digest = decision.template or {}, decision.standing.revision
    if isinstance(slot, str):
        override = seen.hosts[slot].annotations.get(names.HOSTNAME_OVERRIDE, "")
        return anchored(pods.daemon(nodeset, common, digest, slot, override), seen.anchor)
    host = seen.hosts.get((decision.standing.pins or {}).get(str(slot), ""))
    pinned = host.metadata.name if host and placement.fits(common["spec"], host) else None
    return anchored(pods.numbered(nodeset, common, digest, slot, pinned), seen.anchor)


def claims_of(nodeset: NodeSet, seen: Gathered, slot: Slot) -> Sequence[Manifest]:
    """The claims of a slot; they go with the NodeSet where the user says so."""
    made, owners = claims.build(nodeset, _identity(nodeset, seen, slot)), [*bonds.owners(nodeset)]
    return [{**each, "metadata": {**each["metadata"], "ownerReferences": owners}} for each in made]


def spent_claims(nodeset: NodeSet, seen: Gathered, name: str) -> Sequence[Key]:
    """The claims that go with a worker that is scaled in."""
    if nodeset.spec.persistent_volume_claim_retention_policy.when_scaled != _DELETE:
        return ()
    labels = seen.pods[name].labels
    identity = labels.get(names.POD_INDEX_LABEL) or labels.get(names.POD_HOSTNAME_LABEL, "")
    return [
        Key(nodeset.metadata.namespace, claims.name_of(each, nodeset, identity))
        for each in claims.templates(nodeset)
    ]


def _identity(nodeset: NodeSet, seen: Gathered, slot: Slot) -> str:
    if isinstance(slot, int):
        return pods.padded(nodeset, slot)
    return seen.hosts[slot].annotations.get(names.HOSTNAME_OVERRIDE) or slot.partition(".")[0]


def _template(nodeset: NodeSet, seen: Gathered) -> tuple[Mapping[str, Any] | None, Sequence[Problem]]:
    """What pods are made from, and why they cannot be."""
    if seen.observed is None:
        return None, seen.missing
    try:
        claims.templates(nodeset)
        return template.build(nodeset, seen.observed), seen.missing
    except MergeError as error:
        return None, [*seen.missing, Problem("InvalidTemplate", f"{error}.")]


def _hosts(
    nodeset: NodeSet, seen: Gathered, made: Mapping[str, Any] | None, workers: Sequence[Worker]
) -> frozenset[str] | None:
    if nodeset.spec.scaling_mode != DAEMON_SET:
        return None
    occupied = frozenset(worker.host for worker in workers if worker.host)
    return placement.eligible(made["spec"], seen.hosts.values(), occupied) if made else occupied


def _pins(
    nodeset: NodeSet, seen: Gathered, made: Mapping[str, Any] | None, workers: Sequence[Worker]
) -> pins.Pins | None:
    if not nodeset.spec.pin_to_node or nodeset.spec.scaling_mode == DAEMON_SET:
        return None
    before = nodeset.status.ordinal_to_node if nodeset.status else {}
    return pins.renewed(before, made["spec"], seen.hosts, workers) if made else before


def _problems(nodeset: NodeSet, seen: Gathered) -> list[Problem]:
    found: list[Problem] = []
    with suppress(MergeError):  # said already, of the template
        found += slurmd.problems(nodeset, seen.observed) if seen.observed else ()
    error = seen.slurm.snapshot.nodes.error
    if error and error != _UNASKED:
        message = f"Slurm gives no answer ({error}); until it does, no worker is drained or taken away."
        found.append(Problem("SlurmNotAnswering", message))
    return found
