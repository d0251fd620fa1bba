"""What is known around a NodeSet: its cluster, its workers, and which of them are powered on."""

from typing import Final

from slurmery.api.nebius import NodeSet, SlurmCluster
from slurmery.doors import hashes, marks
from slurmery.doors.conditions import Problem
from slurmery.doors.views import Custom, read
from slurmery.kube.meta import Key
from slurmery.kube.resources import CONFIG_MAPS, SECRETS, STATEFUL_SETS
from slurmery.nebius import names
from slurmery.nebius.cluster import Cluster, Workers, cluster
from slurmery.nebius.configmaps import build as files
from slurmery.nebius.crew.decide import Squad
from slurmery.nebius.errors import SpecError
from slurmery.nebius.kinds import POWER_STATES, SLURM_CLUSTERS
from slurmery.nebius.nodeset import ephemeral
from slurmery.nebius.nodeset.observed import Observed, Whole
from slurmery.nebius.sets import KRUISE, MISSING
from slurmery.nebius.slurmcluster.gather import Surroundings, born_bare, contents, nodesets_of
from slurmery.nebius.slurmcluster.jail import POPULATED
from slurmery.slurmconf.text import TextError

_LOST: Final = "ClusterNotFound"
_NO_NAME: Final = "spec.clusterName is missing: a NodeSet belongs to a SlurmCluster."


async def gather(around: Surroundings, nodeset: NodeSet) -> Observed:
    """The world around a NodeSet."""
    key = Key(nodeset.metadata.namespace, nodeset.metadata.name)
    owner = cluster_key(nodeset)
    if owner is None:
        return Observed(missing=Problem(_LOST, _NO_NAME))
    view = around.caches.custom[SLURM_CLUSTERS].get(owner)
    if view is None:
        words = f"There is no SlurmCluster {owner.name} in this namespace."
        return Observed(missing=Problem(_LOST, words))
    if around.sets == KRUISE and not await around.offers(KRUISE):
        return Observed(missing=MISSING)
    try:
        whole = await _whole(around, nodeset, view)
    except (SpecError, TextError) as error:
        return Observed(missing=Problem("InvalidSpec", f"{error}."))
    except ValueError:
        return Observed(missing=Problem(_LOST, f"The spec of SlurmCluster {owner.name} cannot be read."))
    return Observed(
        whole=whole,
        decision=around.crew.look(whole.squad),
        active=active(around, key),
        waits=_waits(around, whole, view),
        silence=around.crew.links.silence(whole.cluster) or around.crew.trouble(owner),
        uid=nodeset.metadata.uid,
        going=view.deleting,
    )


def cluster_key(nodeset: NodeSet) -> Key | None:
    """The SlurmCluster that a NodeSet is of."""
    notes = nodeset.metadata.annotations or {}
    named = (nodeset.spec.cluster_name if nodeset.spec else "") or notes.get(names.PARENT_ANNOTATION)
    return Key(nodeset.metadata.namespace, named) if named else None


def active(around: Surroundings, key: Key) -> tuple[int, ...] | None:
    """The ordinals that are powered on; None while nobody has said."""
    view = around.caches.custom[POWER_STATES].get(key)
    return tuple(sorted(view.spec.get("activeNodes") or ())) if view else None


async def _whole(around: Surroundings, nodeset: NodeSet, view: Custom) -> Whole:
    if nodeset.spec is None:
        raise SpecError("spec is missing")
    resource = read(SlurmCluster, view)
    siblings = nodesets_of(around, view.key)
    bare = born_bare(around.caches, view.key)
    owner = cluster(resource, siblings, born_bare=bare, domain=around.domain, sets=around.sets)
    workers = Workers(nodeset.metadata.name, nodeset.spec)
    versions = await _versions(around, owner, workers)
    return Whole(owner, workers, _squad(around, nodeset, view, owner, versions), versions)


async def _versions(around: Surroundings, owner: Cluster, workers: Workers) -> dict[str, str]:
    """Hashes of what pods read only when they start."""
    at, given = owner.names, workers.spec
    secrets = await contents(around, SECRETS, at.namespace, {at.munge})
    refs = {one for one in (given.config_map_ref_sshd, given.config_map_ref_supervisord) if one}
    maps = await contents(around, CONFIG_MAPS, at.namespace, refs)
    found = {name: hashes.of_map(content) for name, content in {**secrets, **maps}.items()}
    ours = (
        files.worker_sshd(owner) if not given.config_map_ref_sshd else None,
        files.worker_supervisord(owner) if not given.config_map_ref_supervisord else None,
    )
    return {**found, **{one.key.name: hashes.of_map(one.manifest["data"]) for one in ours if one}}


def _squad(
    around: Surroundings, nodeset: NodeSet, view: Custom, owner: Cluster, versions: dict[str, str]
) -> Squad:
    workers = Workers(nodeset.metadata.name, nodeset.spec) if nodeset.spec else None
    if workers is None:
        raise SpecError("spec is missing")
    key, given = Key(nodeset.metadata.namespace, workers.name), workers.spec
    said = active(around, key)
    # While nobody says who is on, everybody stays.
    on = around.crew.ordinals(view.key, workers.name) if said is None else said
    wanted = frozenset(each for each in on if 0 <= each < given.replicas and not owner.stopped)
    return Squad(
        cluster=view.key,
        name=workers.name,
        replicas=given.replicas if given.ephemeral_nodes or not owner.stopped else 0,
        max_unavailable=given.max_unavailable,
        nodeset=workers.name,
        ordinals=wanted if given.ephemeral_nodes else None,
        revision=ephemeral.revision(owner, workers, versions) if given.ephemeral_nodes else "",
        deleting=view.deleting or nodeset.metadata.deletion_timestamp is not None,
        forced=marks.forced(nodeset.metadata.annotations or {}, view.annotations),
    )


def _waits(around: Surroundings, whole: Whole, view: Custom) -> str:
    key = Key(view.metadata.namespace, whole.workers.name)
    made = any(around.caches.workloads[one].get(key) for one in (STATEFUL_SETS, KRUISE))
    others = made if whole.workers.spec.ephemeral_nodes else around.crew.own_pods(view.key, key.name)
    if others:
        return "The pods were made with another ephemeralNodes. Delete the NodeSet and make it anew."
    started = made or around.crew.room(view.key, key.name) > 0
    return "" if started or whole.cluster.stopped else _jail(view)


def _jail(view: Custom) -> str:
    """Pods wait for the shared root to be filled; there is nothing in it to run before."""
    said = {each["type"]: each for each in (view.status or {}).get("conditions") or ()}
    if said.get(POPULATED, {}).get("status") == "True":
        return ""
    words = said.get(POPULATED, {}).get("message", "")
    return f"No pod starts before the shared root is filled. {words}".strip()
