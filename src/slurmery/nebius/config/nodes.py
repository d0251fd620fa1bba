"""The nodes of NodeSets in slurm.conf and gres.conf: one line for each NodeSet, however many nodes it has."""

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Final

from slurmery.api.nebius.kubernetes import ResourceList
from slurmery.api.quantity import quantity
from slurmery.nebius.cluster import Cluster, Workers
from slurmery.nebius.config import words
from slurmery.nebius.config.release import released
from slurmery.slurmconf.text import entry, record

_MIB: Final = 1024 * 1024
# What the operator says itself, and so must not come in with the text of a user.
_OURS: Final = ("feature=", "features=", "state=")


def hosts(nodeset: Workers) -> str:
    """The hostlist of a NodeSet that has nodes."""
    count = nodeset.spec.replicas
    return f"{nodeset.name}-0" if count == 1 else f"{nodeset.name}-[0-{count - 1}]"


def real_memory(resources: ResourceList) -> int:
    """RealMemory of a node: MiB, rounded down."""
    return math.floor(Fraction(quantity(resources.get("memory", 0))) / _MIB)


def node_lines(cluster: Cluster) -> Iterator[str]:
    """The nodes, then the NodeSets as Slurm's own."""
    if not cluster.nodesets:
        yield words.comment("WARNING: there is no NodeSet, and so no node")
    for nodeset in cluster.nodesets:
        if nodeset.spec.replicas > 0:
            if not nodeset.spec.node_config.auto_resume and released(cluster):
                yield words.comment(f"WARNING: NodeSet {nodeset.name}: this Slurm does not know AutoResume")
            yield _node(cluster, nodeset)
        else:
            yield words.comment(f"WARNING: NodeSet {nodeset.name} is skipped: it has no replicas")
    yield from (
        record(("NodeSet", nodeset.name), ("Nodes", hosts(nodeset)))
        for nodeset in cluster.nodesets
        if nodeset.spec.replicas > 0
    )


def gres_lines(cluster: Cluster) -> Iterator[str]:
    """The generic resources that NodeSets declare for their nodes."""
    yield words.comment("Nodes")
    if not cluster.nodesets:
        yield words.comment("WARNING: there is no NodeSet, and so no node")
    for nodeset in cluster.nodesets:
        yield words.comment(f"NodeSet {nodeset.name}")
        if nodeset.spec.replicas <= 0:
            yield words.comment(f"WARNING: NodeSet {nodeset.name} is skipped: it has no replicas")
            continue
        given = nodeset.spec.node_config.gres_config
        if not given:
            yield words.comment("nothing beyond what is detected")
        for index, line in enumerate(given):
            field = f"NodeSet {nodeset.name}: nodeConfig.gresConfig[{index}]"
            yield f"{entry('NodeName', hosts(nodeset))} {words.one_line(field, line)}"


def static_nodes(cluster: Cluster) -> str:
    """The hostlist of nodes that are never switched off."""
    return ",".join(
        hosts(nodeset)
        for nodeset in cluster.nodesets
        if nodeset.spec.replicas > 0 and not nodeset.spec.ephemeral_nodes
    )


def _node(cluster: Cluster, nodeset: Workers) -> str:
    spec, names = nodeset.spec, cluster.names
    address = f"{hosts(nodeset)}.{names.fqdn(names.nodeset_service)}"
    pairs: list[tuple[str, str | int]] = [
        ("NodeName", hosts(nodeset)),
        ("State", "CLOUD"),
        ("NodeAddr", address),
        ("RealMemory", real_memory(spec.slurmd.resources)),
    ]
    if not spec.node_config.auto_resume and not released(cluster):
        pairs.append(("AutoResume", "Off"))
    if spec.slurmd.port:
        pairs.append(("Port", spec.slurmd.port))
    if spec.features:
        pairs.append(("Feature", ",".join(spec.features)))
    static = words.one_line(f"NodeSet {nodeset.name}: nodeConfig.static", spec.node_config.static)
    ours = _OURS if spec.features else _OURS[-1:]
    kept = [token for token in static.split() if not token.lower().startswith(ours)]
    return " ".join([record(*pairs), *kept])
