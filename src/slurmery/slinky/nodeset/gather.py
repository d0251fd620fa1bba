"""What is known around a NodeSet: its cluster, its pods, their nodes, and Slurm's last word."""

import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from slurmery.api.slinky import Controller, NodeSet
from slurmery.doors.conditions import Problem
from slurmery.doors.hearing import Slurm
from slurmery.doors.pods import WorkerPod
from slurmery.doors.views import read
from slurmery.doors.words import Told
from slurmery.kube.meta import Key, Manifest
from slurmery.kube.resources import CONFIG_MAPS
from slurmery.slinky.cluster import missing
from slurmery.slinky.kinds import CONTROLLERS, NODE_SETS
from slurmery.slinky.links import Links
from slurmery.slinky.nodeset.fleet import Fleet
from slurmery.slinky.nodeset.history import Newest
from slurmery.slinky.nodeset.kinship import ANCHOR, anchor_of, orphaned
from slurmery.slinky.nodeset.observe import DAEMON_SET
from slurmery.slinky.nodeset.observed import Observed
from slurmery.slinky.nodeset.views import Host
from slurmery.slinky.world import World
from slurmery.slurm.snapshot import Snapshot

_GRES_CONF: Final = "gres.conf"
# Until the history was asked.
_UNKNOWN: Final = Newest("unknown")


@dataclass(frozen=True)
class Gathered:
    """`observed` is None without a Controller; `siblings` are all NodeSets of the cluster, this one too."""

    observed: Observed | None
    missing: Sequence[Problem]
    pods: Mapping[str, WorkerPod]
    hosts: Mapping[str, Host]
    siblings: Sequence[NodeSet]
    slurm: Slurm
    now: float
    newest: Newest = _UNKNOWN
    anchor: Sequence[Manifest] = ()


async def gather(world: World, links: Links, fleet: Fleet, told: Told, nodeset: NodeSet) -> Gathered:
    """The world around a NodeSet."""
    namespace, ref = nodeset.metadata.namespace, nodeset.spec.controller_ref
    controller, key_hash = await world.cluster(namespace, ref)
    pods = {pod.metadata.name: pod for pod in _pods(fleet, nodeset)}
    pinned = nodeset.status.ordinal_to_node.values() if nodeset.status else ()
    places = {*pinned, *(pod.spec.node_name for pod in pods.values())}
    return Gathered(
        observed=await _cluster(world, nodeset, controller, key_hash) if controller else None,
        missing=missing(ref, controller, key_hash),
        pods=pods,
        hosts=fleet.hosts(None if nodeset.spec.scaling_mode == DAEMON_SET else places),
        siblings=_siblings(world, Key(namespace, ref.name)),
        slurm=Slurm(
            links.follow(controller) if controller else Snapshot(),
            told.times(),
            asyncio.get_running_loop().time(),
        ),
        now=time.time(),
        anchor=anchor_of(world.caches.metadata[CONFIG_MAPS].get(Key(namespace, ANCHOR))),
    )


def _pods(fleet: Fleet, nodeset: NodeSet) -> Sequence[WorkerPod]:
    """Its pods; of a NodeSet that goes, also those that Kubernetes has taken from it meanwhile."""
    own = fleet.pods_of(nodeset.metadata.uid)
    if nodeset.metadata.deletion_timestamp is None:
        return own
    orphans = fleet.orphans(Key(nodeset.metadata.namespace, nodeset.metadata.name))
    return [*own, *(pod for pod in orphans if orphaned(nodeset, pod))]


async def _cluster(
    world: World, nodeset: NodeSet, controller: Controller, slurm_key_hash: str | None
) -> Observed:
    namespace, ssh = nodeset.metadata.namespace, nodeset.spec.ssh
    files = [await world.config_map(namespace, ref.name) for ref in controller.spec.config_file_refs]
    found = [content[_GRES_CONF] for content in files if content and _GRES_CONF in content]
    return Observed(
        controller=controller,
        slurm_key_hash=slurm_key_hash,
        sssd_conf_hash=await world.secret_hash(namespace, ssh.sssd_conf_ref) if ssh and ssh.enabled else None,
        gres_conf=found[0] if found else None,
        domain=world.domain,
    )


def _siblings(world: World, cluster: Key) -> Sequence[NodeSet]:
    """Without those that cannot be read: they are told so themselves."""
    readable = []
    for view in world.caches.users(NODE_SETS, CONTROLLERS, cluster):
        try:
            readable.append(read(NodeSet, view))
        except ValueError:
            continue
    return readable
