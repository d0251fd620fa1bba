"""Nodes as text: what each is and holds now, and what happened to it so far."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate
from typing import Final

from slurmery.exporter.outages import BUCKETS, Histogram, Outages, is_unavailable
from slurmery.exporter.page import Block
from slurmery.exporter.scope import Scope
from slurmery.exporter.text import Family, Labels, Text, joined, sample, slices
from slurmery.slurm.model import Node
from slurmery.slurmconf import tres

_MEGABYTE: Final = 1 << 20
_RESERVATION_LENGTH: Final = 50
_ORDINAL: Final = re.compile(r"(.+)-[0-9]+")
_EDGES: Final = (*map(str, BUCKETS), "+Inf")

# Labels and the states of Slurm that make them true.
_BASIC_FLAGS: Final = {
    "state_is_drain": {"DRAIN"},
    "state_is_maintenance": {"MAINTENANCE"},
    "state_is_reserved": {"RESERVED"},
}
_MORE_FLAGS: Final = {
    "state_is_completing": {"COMPLETING"},
    "state_is_fail": {"FAIL"},
    "state_is_planned": {"PLANNED"},
    "state_is_not_responding": {"NOT_RESPONDING"},
    "state_is_invalid": {"INVALID", "INVALID_REG"},
    "state_is_cloud": {"CLOUD"},
    "state_is_power_down": {"POWER_DOWN"},
    "state_is_power_drain": {"POWER_DRAIN"},
    "state_is_powered_down": {"POWERED_DOWN"},
    "state_is_powering_down": {"POWERING_DOWN"},
    "state_is_powering_up": {"POWERING_UP"},
    "state_is_power_up": {"POWER_UP"},
}

INFO: Final = Family("slurm_node_info", "gauge", "A node of Slurm and its state.")
COUNT: Final = Family("slurm_cluster_nodes_total", "gauge", "Nodes that Slurm knows.")
PARTITION: Final = Family("slurm_node_partition", "gauge", "A partition that the node belongs to.")
NVLINK: Final = Family(
    "slurm_node_nvlink_instance_group", "gauge", "The innermost unit of Slurm's topology that holds the node."
)
GPU_SECONDS: Final = Family(
    "slurm_node_gpu_seconds_total", "counter", "Seconds times GPUs that the node spent in each state."
)
FAILS: Final = Family("slurm_node_fails_total", "counter", "How often the node went down or was drained.")
UNAVAILABLE: Final = Family(
    "slurm_node_unavailability_duration_seconds", "histogram", "How long outages of the node lasted."
)
DRAINING: Final = Family(
    "slurm_node_draining_duration_seconds", "histogram", "How long the node took to finish its jobs."
)
AMOUNTS: Final[dict[Family, Callable[[Node], int]]] = {
    Family("slurm_node_cpus_total", "gauge", "CPUs of the node."): lambda node: node.cpus,
    Family("slurm_node_cpus_allocated", "gauge", "CPUs that jobs have."): lambda node: node.alloc_cpus,
    Family("slurm_node_cpus_idle", "gauge", "CPUs that no job has."): lambda node: node.alloc_idle_cpus,
    Family("slurm_node_cpus_effective", "gauge", "CPUs for jobs."): lambda node: node.effective_cpus,
    Family("slurm_node_memory_total_bytes", "gauge", "Memory of the node."): (
        lambda node: node.real_memory * _MEGABYTE
    ),
    Family("slurm_node_memory_allocated_bytes", "gauge", "Memory that jobs have."): (
        lambda node: node.alloc_memory * _MEGABYTE
    ),
    Family("slurm_node_memory_free_bytes", "gauge", "Memory that nothing uses."): (
        # What the operating system says; where none has ever run, what jobs have not got.
        lambda node: (
            (node.free_mem if node.free_mem is not None else node.real_memory - node.alloc_memory) * _MEGABYTE
        )
    ),
    Family("slurm_node_memory_effective_bytes", "gauge", "Memory for jobs."): (
        lambda node: (node.real_memory - node.specialized_memory) * _MEGABYTE
    ),
}

_NAME: Final = Labels("node_name")
_MEMBER: Final = Labels("node_name", "partition")
_GROUP: Final = Labels("node_name", "nvlink_instance_group")


def gpus(node: Node) -> int:
    """GPUs of the node; without accounting Slurm does not track them but still knows of them."""
    try:
        tracked = tres.parse(node.tres).gpus
    except tres.TresError:
        tracked = 0
    return tracked or tres.gpus(node.gres)


def nvlink_group(node: Node) -> str:
    """`default:rack1:block7` is in block7; with topology/block that is the NVLink domain."""
    return node.topology.partition(",")[0].rpartition(":")[2]


def nodeset(name: str) -> str:
    """Workers are called after their NodeSet and a number."""
    match = _ORDINAL.fullmatch(name)
    return match[1] if match else ""


class NodeLabels:
    """Label text of nodes. States repeat themselves, so their text is made once."""

    def __init__(self, scope: Scope) -> None:
        absent = scope.absent_labels
        self._identity = Labels(
            *("node_name", "instance_id", "address", "reason", "reservation_name", "comment"), omitted=absent
        )
        self._basic = Labels("state_base", *_BASIC_FLAGS)
        self._more = Labels(*_MORE_FLAGS, "is_unavailable", omitted=absent)
        self._texts: dict[tuple[str, ...], tuple[str, str]] = {}

    def info(self, node: Node) -> str:
        identity = self._identity(
            node.name,
            node.instance_id,
            node.address,
            node.reason,
            node.reservation[:_RESERVATION_LENGTH],
            node.comment,
        )
        return joined(identity, *self._states(node))

    def state(self, node: Node) -> str:
        """What the counters of the node are told apart by."""
        return f"{_NAME(node.name)},{self._states(node)[0]}"

    def _states(self, node: Node) -> tuple[str, str]:
        texts = self._texts.get(node.state)
        if texts is None:
            more = [*_flags(node, _MORE_FLAGS), _truth(is_unavailable(node))]
            texts = self._basic(node.base_state, *_flags(node, _BASIC_FLAGS)), self._more(*more)
            self._texts[node.state] = texts
        return texts


async def present(nodes: Sequence[Node], labels: NodeLabels, scope: Scope) -> list[Block]:
    """How the nodes are now."""
    count, info, partition, nvlink = Text(COUNT), Text(INFO), Text(PARTITION), Text(NVLINK)
    amounts = [(Text(family), amount) for family, amount in AMOUNTS.items()]
    count.add([sample(COUNT.name, "", len(nodes))])
    async for part in slices(nodes):
        info.add(sample(INFO.name, labels.info(node), 1) for node in part)
        if scope.is_full:
            names = [_NAME(node.name) for node in part]
            for text, amount in amounts:
                values = zip(names, map(amount, part), strict=True)
                text.add([sample(text.name, name, value) for name, value in values])
            members = (_MEMBER(node.name, partition) for node in part for partition in node.partitions)
            partition.add(sample(PARTITION.name, member, 1) for member in members)
            groups = ((node.name, nvlink_group(node)) for node in part)
            nvlink.add(sample(NVLINK.name, _GROUP(name, group), 1) for name, group in groups if group)
    return [text.block() for text in (count, info, *(text for text, _ in amounts), partition, nvlink)]


async def seconds(outages: Outages) -> Block:
    """What grows with every look at the clock."""
    text = Text(GPU_SECONDS)
    async for part in slices(list(outages)):
        text.add(
            f"{GPU_SECONDS.name}{{{labels}}} {value:.3f}\n"
            for _, history in part
            for labels, value in history.gpu_seconds.items()
        )
    return text.block()


async def past(outages: Outages) -> list[Block]:
    """What happened to the nodes; most have nothing to tell."""
    fails, unavailable, draining = Text(FAILS), Text(UNAVAILABLE), Text(DRAINING)
    async for part in slices(list(outages)):
        for name, history in part:
            fails.add(sample(FAILS.name, labels, count) for labels, count in history.fails.items())
            if history.unavailable.durations:
                unavailable.add(_histogram(UNAVAILABLE.name, name, history.unavailable.durations))
            if history.draining.durations:
                draining.add(_histogram(DRAINING.name, name, history.draining.durations))
    return [fails.block(), unavailable.block(), draining.block()]


def _histogram(family: str, node: str, durations: Histogram) -> Iterator[str]:
    name = _NAME(node)
    total = 0
    for edge, total in zip(_EDGES, accumulate(durations.counts), strict=True):
        yield sample(f"{family}_bucket", f'{name},le="{edge}"', total)
    yield sample(f"{family}_sum", name, durations.sum)
    yield sample(f"{family}_count", name, total)


def _flags(node: Node, flags: dict[str, set[str]]) -> list[str]:
    return [_truth(not states.isdisjoint(node.state)) for states in flags.values()]


def _truth(value: bool) -> str:
    return "true" if value else "false"
