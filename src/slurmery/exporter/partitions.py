"""Partitions as text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from slurmery.exporter.page import Block
from slurmery.exporter.text import Family, Labels, Text, sample
from slurmery.slurm.records import Partition

NODES: Final = Family("slurm_partition_nodes", "gauge", "Nodes of the partition.")
UP: Final = Family("slurm_partition_up", "gauge", "Whether the partition starts jobs.")

_NAME: Final = Labels("partition")


def blocks(partitions: Sequence[Partition]) -> list[Block]:
    nodes, up = Text(NODES), Text(UP)
    nodes.add(sample(NODES.name, _NAME(partition.name), partition.node_count) for partition in partitions)
    up.add(sample(UP.name, _NAME(partition.name), int(partition.is_up)) for partition in partitions)
    return [nodes.block(), up.block()]
