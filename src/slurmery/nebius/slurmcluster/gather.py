"""What is known around a SlurmCluster, and random values for Secrets that it has not got yet."""

import asyncio
import secrets as random
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, replace

from slurmery.api.condition import Condition
from slurmery.api.nebius import NodeSet, SlurmCluster
from slurmery.doors import marks
from slurmery.doors.conditions import Rollout
from slurmery.doors.contents import Content, Contents
from slurmery.doors.views import read
from slurmery.kube.meta import Key, Resource
from slurmery.kube.observed import OWNER_INDEX
from slurmery.kube.resources import CONFIG_MAPS, POD_MONITORS, SECRETS, STATEFUL_SETS
from slurmery.nebius import names, references
from slurmery.nebius.caches import Caches
from slurmery.nebius.cluster import Cluster, cluster
from slurmery.nebius.config.slurm import written_room
from slurmery.nebius.crew.crew import Crew
from slurmery.nebius.crew.decide import Squad
from slurmery.nebius.errors import SpecError
from slurmery.nebius.kinds import APP_ARMOR_PROFILES, MARIADBS, NODE_SETS, SLURM_CLUSTERS
from slurmery.nebius.secrets import build as keys
from slurmery.nebius.secrets import hostkeys, passwords
from slurmery.nebius.sets import KRUISE
from slurmery.nebius.slurmcluster.observed import Fresh, Observed

Offers = Callable[[Resource], Awaitable[bool]]
_OPTIONAL = (MARIADBS, POD_MONITORS, APP_ARMOR_PROFILES, KRUISE)


@dataclass(frozen=True)
class Surroundings:
    """Where a gathering looks. `offers` is whether the API server has a resource; `domain` is that of DNS;
    `topology_kept` is whether somebody else keeps topology.conf; `sets` is what StatefulSets should be."""

    caches: Caches
    contents: Contents
    crew: Crew
    offers: Offers
    domain: str
    topology_kept: bool = False
    sets: Resource = STATEFUL_SETS


async def gather(around: Surroundings, resource: SlurmCluster) -> Observed:
    """The world around a SlurmCluster."""
    key = Key(resource.metadata.namespace, resource.metadata.name)
    bare = born_bare(around.caches, key)
    nodesets = nodesets_of(around, key)
    left = around.crew.left(key)
    try:
        named = cluster(resource, nodesets, born_bare=bare, domain=around.domain, sets=around.sets)
    except SpecError:
        return Observed()
    wanted = replace(named, awake=left > 0)
    around.crew.links.follow(wanted)
    own = squad(resource, wanted)
    view = around.caches.custom[SLURM_CLUSTERS].get(key)
    spec = view.spec if view else {}
    needed = {wanted.names.munge, wanted.names.rest_jwt_key, _host_keys(wanted), *references.secrets(spec)}
    known = await contents(around, SECRETS, key.namespace, {*needed, *_passwords(wanted)})
    job = around.caches.jobs.get(Key(key.namespace, wanted.names.populate_jail))
    offered = {one: await around.offers(one) for one in _OPTIONAL}
    fresh = await _fresh(wanted, known, offered)
    return Observed(
        secrets={**known, **made(wanted, fresh)},
        config_maps=await contents(around, CONFIG_MAPS, key.namespace, references.config_maps(spec)),
        rollouts=_rollouts(around.caches, resource.metadata.uid),
        database_ready=_database_ready(around.caches, wanted, offered),
        populate=job.populate if job else None,
        said={each.type: (each.status, each.reason) for each in _conditions(resource)},
        offers=lambda one: offered.get(one, True),
        nodesets=nodesets,
        born_bare=bare,
        fresh=fresh,
        domain=around.domain,
        topology_kept=around.topology_kept,
        sets=around.sets,
        room=await _room(around, wanted),
        workers=around.crew.look(own) if own else None,
        left=left,
        silence=around.crew.links.silence(wanted) or around.crew.trouble(key),
    )


def squad(resource: SlurmCluster, wanted: Cluster) -> Squad | None:
    """What is wanted of the cluster's own workers, if it has them."""
    given = wanted.spec.slurm_nodes.worker
    if given is None:
        return None
    return Squad(
        cluster=Key(wanted.names.namespace, wanted.names.cluster),
        name=wanted.names.worker,
        replicas=0 if wanted.stopped else given.size,
        max_unavailable=given.max_unavailable,
        deleting=resource.metadata.deletion_timestamp is not None,
        forced=marks.forced(resource.metadata.annotations or {}),
    )


async def contents(
    around: Surroundings, resource: Resource, namespace: str, wanted: Iterable[str]
) -> dict[str, Content]:
    """What is in them. Those that we make are asked for again before they count as missing: the cache may
    not show what we wrote a moment ago."""
    keys = [Key(namespace, name) for name in sorted(wanted)]
    found = await asyncio.gather(*(_content(around, resource, key) for key in keys))
    return {key.name: content for key, content in zip(keys, found, strict=True) if content is not None}


async def _content(around: Surroundings, resource: Resource, key: Key) -> Content | None:
    held = around.contents
    cached = await (held.secret(key) if resource == SECRETS else held.config_map(key))
    return cached if cached is not None else await held.live(resource, key)


async def _fresh(wanted: Cluster, known: Mapping[str, Content], offered: Mapping[Resource, bool]) -> Fresh:
    at = wanted.names
    return Fresh(
        munge_key=b"" if at.munge in known else random.token_bytes(keys.MUNGE_BYTES),
        jwt_key=b"" if at.rest_jwt_key in known else random.token_bytes(keys.JWT_BYTES),
        host_keys=await asyncio.to_thread(hostkeys.generate) if _host_keys(wanted) not in known else {},
        passwords={
            name: passwords.password(random.token_bytes(passwords.ENTROPY_BYTES))
            for name in _passwords(wanted)
            if name not in known and _makes_passwords(wanted, offered)
        },
    )


def made(wanted: Cluster, fresh: Fresh) -> dict[str, Content]:
    """What will be in the new Secrets: pods are made with its hash, not rolled a moment later."""
    at = wanted.names
    found: dict[str, Content] = {
        at.munge: {names.MUNGE_KEY_FILE: fresh.munge_key} if fresh.munge_key else {},
        at.rest_jwt_key: {names.REST_JWT_FILE: fresh.jwt_key} if fresh.jwt_key else {},
        _host_keys(wanted): fresh.host_keys,
        **{name: {names.PASSWORD_KEY: value.encode()} for name, value in fresh.passwords.items()},
    }
    return {name: content for name, content in found.items() if content}


def _passwords(wanted: Cluster) -> tuple[str, ...]:
    accounting = wanted.spec.slurm_nodes.accounting
    if not accounting.enabled or accounting.external_db.enabled:
        return ()
    return names.MARIADB_PASSWORD, names.MARIADB_ROOT


def _makes_passwords(wanted: Cluster, offered: Mapping[Resource, bool]) -> bool:
    """The mariadb-operator makes passwords itself, unless they are to be protected."""
    given = wanted.spec.slurm_nodes.accounting.mariadb_operator
    return (given is not None and given.protected_secret) or not offered[MARIADBS]


async def _room(around: Surroundings, wanted: Cluster) -> int:
    at = wanted.names
    written = await around.contents.config_map(Key(at.namespace, at.slurm_configs)) or {}
    return written_room({name: text.decode() for name, text in written.items()})


def _host_keys(wanted: Cluster) -> str:
    return wanted.spec.secrets.sshd_keys_name or wanted.names.sshd_keys


def _rollouts(caches: Caches, uid: str) -> dict[tuple[Resource, str], Rollout]:
    return {
        (resource, found.metadata.name): found.rollout
        for resource, cache in caches.workloads.items()
        for found in cache.by(OWNER_INDEX, uid)
    }


def _database_ready(caches: Caches, wanted: Cluster, offered: Mapping[Resource, bool]) -> bool | None:
    """Whether the database answers, as far as somebody here knows; None if it is elsewhere."""
    if not _passwords(wanted):
        return None
    key = Key(wanted.names.namespace, wanted.names.database)
    if offered[MARIADBS]:
        found = caches.databases.get(key)
        return found is not None and found.ready
    server = caches.workloads[STATEFUL_SETS].get(key)
    return server is not None and server.rollout.ready > 0


def born_bare(caches: Caches, key: Key) -> bool:
    """Whether the cluster has a controller from before names had a prefix."""
    bare = Key(key.namespace, names.CONTROLLER)
    found = (caches.workloads[resource].get(bare) for resource in (STATEFUL_SETS, KRUISE))
    return any(each.labels.get(names.INSTANCE_LABEL) == key.name for each in found if each)


def nodesets_of(around: Surroundings, key: Key) -> tuple[NodeSet, ...]:
    """The NodeSets of a cluster. A worker that is to leave stays in Slurm's files until its pod is gone."""
    found = []
    for view in around.caches.users(NODE_SETS, SLURM_CLUSTERS, key):
        try:
            nodeset = read(NodeSet, view)
        except ValueError:
            continue  # its own reconcile says so
        room = around.crew.room(key, view.metadata.name)
        if nodeset.spec and nodeset.spec.replicas < room:
            spec = nodeset.spec.model_copy(update={"replicas": room})
            nodeset = nodeset.model_copy(update={"spec": spec})
        found.append(nodeset)
    return tuple(found)


def _conditions(resource: SlurmCluster) -> Iterable[Condition]:
    return resource.status.conditions if resource.status else ()
