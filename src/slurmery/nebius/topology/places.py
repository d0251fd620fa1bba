"""From labels of Kubernetes nodes to the place of every worker. Pure."""

import json
from collections.abc import Collection, Iterable, Mapping
from typing import Final

from slurmery.nebius.cluster import Cluster
from slurmery.nebius.config.topology import Place, blocks, tree
from slurmery.slurmconf.hostlist import compress, natural

Tiers = Mapping[int, str]

_BLOCK: Final = "topology/block"
_TIER: Final = "tier-"


def tiers(labels: Mapping[str, str], prefix: str) -> Tiers:
    """Where a Kubernetes node stands: what its labels `<prefix>/tier-N` say, by N."""
    start = f"{prefix}/{_TIER}"
    found = ((key.removeprefix(start), value) for key, value in labels.items() if key.startswith(start))
    return {int(tier): value for tier, value in found if tier.isdecimal() and value}


def node_labels(nodes: Mapping[str, Tiers]) -> dict[str, str]:
    """What workers look themselves up in: for each Kubernetes node its tiers, as JSON."""
    return {
        node: json.dumps({f"{_TIER}{tier}": found[tier] for tier in sorted(found)})
        for node, found in sorted(nodes.items())
        if found
    }


def topology_conf(
    cluster: Cluster,
    hosts: Mapping[str, str],
    nodes: Mapping[str, Tiers],
    registered: Collection[str] = (),
) -> str:
    """topology.conf; `hosts` are the Kubernetes nodes that workers run on, by worker.

    Slurm drops the names of nodes that it does not know as it reads the file, so it must read it again once
    they have registered: the file says in a comment who has. Nodes of NodeSets are in slurm.conf.
    """
    fabrics = dict(_workers(cluster))
    # A worker that is to leave has its place until it is gone.
    workers = {**dict.fromkeys(hosts, ""), **fabrics}
    places = [
        Place(worker, nodes.get(hosts.get(worker, ""), {}), fabric) for worker, fabric in workers.items()
    ]
    known = sorted((each for each in registered if each in workers), key=natural) if cluster.is_1_22 else ()
    note = f"#Registered: {compress(known)}\n" if known else ""
    if cluster.spec.slurm_config.topology_plugin == _BLOCK:
        return blocks(places, cluster.spec.topology.block_size) + note
    return tree(places, always_root=not cluster.is_1_22) + note


def _workers(cluster: Cluster) -> Iterable[tuple[str, str]]:
    own = cluster.spec.slurm_nodes.worker
    if own:
        yield from ((f"{cluster.names.worker}-{ordinal}", "") for ordinal in range(own.size))
    for nodeset in cluster.nodesets:
        fabric = nodeset.spec.topology.fabric
        yield from ((f"{nodeset.name}-{ordinal}", fabric) for ordinal in range(nodeset.spec.replicas))
