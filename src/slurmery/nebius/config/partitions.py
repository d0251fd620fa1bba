"""Partitions in slurm.conf: the usual ones, lines of the user's own, or made of NodeSets."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from slurmery.api.nebius.configuration import Partition
from slurmery.nebius.cluster import Cluster
from slurmery.nebius.config import words
from slurmery.slurmconf.text import TextError, entry

_PREFIX: Final = "PartitionName"
_MAIN: Final = (
    "PartitionName=main Nodes=ALL Default=YES PriorityTier=10 MaxTime=INFINITE State=UP OverSubscribe=YES"
)
_HIDDEN: Final = (
    "PartitionName=hidden Nodes=ALL Default=NO PriorityTier=10 PreemptMode=OFF Hidden=YES"
    " MaxTime=INFINITE State=UP OverSubscribe=YES"
)
_BACKGROUND: Final = (
    "PartitionName=background Nodes=ALL Default=NO PriorityTier=1 PreemptMode=OFF Hidden=YES"
    " MaxTime=INFINITE State=UP OverSubscribe=YES"
)


@dataclass(frozen=True)
class Unresolved:
    """A NodeSet that a partition names and that has no nodes for it."""

    partition: str
    nodeset: str
    reason: str


@dataclass(frozen=True)
class References:
    """What became of the NodeSets that partitions name."""

    unresolved: tuple[Unresolved, ...] = ()
    empty: tuple[str, ...] = ()


def partition_lines(cluster: Cluster) -> Iterator[str]:
    """The lines of all partitions."""
    configuration = cluster.spec.partition_configuration
    if configuration.config_type == "custom":
        yield from custom_lines(configuration.raw_config)
    elif configuration.config_type == "default":
        yield from (_MAIN, _HIDDEN, *((_BACKGROUND,) if cluster.is_1_22 else ()))
    else:
        if not configuration.partitions:
            yield words.comment("WARNING: there is no partition")
        for partition in configuration.partitions:
            yield from _structured(cluster, partition)


def custom_lines(raw: tuple[str, ...]) -> Iterator[str]:
    """The user's own lines: each one is a partition, and nothing but a partition."""
    for index, given in enumerate(raw):
        field = f"partitionConfiguration.rawConfig[{index}]"
        name, equals, rest = words.one_line(field, given).partition("=")
        if name.strip() != _PREFIX or not equals or not rest.strip():
            raise TextError(f"{field} must start with PartitionName=, not {given.strip()[:80]!r}")
        yield f"{_PREFIX}={rest.strip()}"


def references(cluster: Cluster) -> References:
    """What became of the NodeSets that partitions name."""
    if cluster.spec.partition_configuration.config_type != "structured":
        return References()
    partitions = [each for each in cluster.spec.partition_configuration.partitions if not each.is_all]
    lost = [found for partition in partitions for found in _unresolved(cluster, partition)]
    empty = [each.name for each in partitions if each.node_set_refs and not _resolved(cluster, each)]
    return References(tuple(lost), tuple(empty))


def _structured(cluster: Cluster, partition: Partition) -> Iterator[str]:
    field = f"partitionConfiguration.partitions[{partition.name}]"
    name = entry(_PREFIX, words.word(f"{field}.name", partition.name))
    config = words.one_line(f"{field}.config", partition.config)
    if partition.is_all:
        yield f"{name} Nodes=ALL {config}".rstrip()
        return
    if not partition.node_set_refs:
        yield words.comment(f"WARNING: partition {partition.name} is skipped: it names no NodeSet")
        return
    for lost in _unresolved(cluster, partition):
        yield words.comment(
            f"WARNING: NodeSet {lost.nodeset!r} of partition {partition.name} is ignored: {lost.reason}"
        )
    nodes = ",".join(_resolved(cluster, partition))
    if not nodes:
        yield words.comment(f"WARNING: partition {partition.name} is left without nodes")
    yield f"{name} {entry('Nodes', nodes)} {config}".rstrip()


def _unresolved(cluster: Cluster, partition: Partition) -> Iterator[Unresolved]:
    replicas = {nodeset.name: nodeset.spec.replicas for nodeset in cluster.nodesets}
    for ref in partition.node_set_refs:
        if replicas.get(ref, 0) <= 0:
            reason = "no replicas" if ref in replicas else "does not exist"
            yield Unresolved(partition.name, ref, reason)


def _resolved(cluster: Cluster, partition: Partition) -> list[str]:
    able = {nodeset.name for nodeset in cluster.nodesets if nodeset.spec.replicas > 0}
    return [ref for ref in partition.node_set_refs if ref in able]
