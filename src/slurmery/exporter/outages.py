"""What happened to nodes over time: GPU seconds, failures, and how long outages lasted.

Slurm tells how things are; these figures come from comparing one answer with the next. Nothing but another
answer changes them, so an outage of slurmrestd neither ends nor restarts the outage of a node. When we start,
a node that is out already has been so since the time that Slurm itself noted:

    drained while busy        job ends             we restart       resumed
    ├────── draining ─────────┼──────── unavailable ────┼───────────────┤
    reason_changed_at         last_busy                                 observed: end - last_busy
"""

from __future__ import annotations

import bisect
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from slurmery.exporter.text import Labels, joined, slices
from slurmery.slurm.model import Node

BUCKETS: Final = (
    *(30, 60, 300, 600, 1800, 3600, 7200, 14400, 28800, 43200),
    *(86400, 172800, 259200, 604800, 1209600, 2592000),
)
# Reasons are free text: of one node's, so many are remembered.
_FAILS_KEPT: Final = 16


def is_unavailable(node: Node) -> bool:
    """Down, or drained with nothing left on it."""
    return node.is_down or (node.has_drain and node.base_state == "IDLE")


def is_draining(node: Node) -> bool:
    """Told to drain, with jobs still on it."""
    return node.has_drain and node.base_state in {"ALLOCATED", "MIXED"}


def is_failed(node: Node) -> bool:
    return node.is_down or node.has_drain


class Histogram:
    """Durations, counted by length."""

    def __init__(self) -> None:
        self.counts = [0] * (len(BUCKETS) + 1)
        self.sum = 0.0

    def observe(self, seconds: float) -> None:
        self.counts[bisect.bisect_left(BUCKETS, seconds)] += 1
        self.sum += seconds


@dataclass
class Timer:
    """Since when a node has been in some state, and how long earlier stays were."""

    since: float | None = None
    durations: Histogram | None = None

    def update(self, inside: bool, entered: float, now: float) -> None:
        if inside and self.since is None:
            self.since = entered
        elif not inside and self.since is not None:
            self.durations = self.durations or Histogram()
            self.durations.observe(max(now - self.since, 0.0))
            self.since = None


@dataclass
class History:
    """What is remembered of one node. `state` is label text, as are the keys of `gpu_seconds` and `fails`."""

    state: str
    gpus: int
    failed: bool
    gpu_seconds: dict[str, float] = field(default_factory=dict)
    fails: dict[str, int] = field(default_factory=dict)
    unavailable: Timer = field(default_factory=Timer)
    draining: Timer = field(default_factory=Timer)

    def count_failure(self, labels: str) -> None:
        if labels not in self.fails and len(self.fails) >= _FAILS_KEPT:
            del self.fails[next(iter(self.fails))]
        self.fails[labels] = self.fails.get(labels, 0) + 1


class Outages:
    """The histories of all nodes that Slurm knows. `now` is Unix time throughout."""

    def __init__(
        self, state_labels: Callable[[Node], str], gpus: Callable[[Node], int], *, reasons: bool = True
    ) -> None:
        self._state_labels = state_labels
        self._gpus = gpus
        self._reason = Labels("reason", omitted=() if reasons else ("reason",))
        self._histories: dict[str, History] = {}
        self._seen_at = 0.0

    def __iter__(self) -> Iterator[tuple[str, History]]:
        return iter(self._histories.items())

    async def update(self, nodes: Sequence[Node], now: float) -> None:
        """Take in an answer. Nodes that are not in it are forgotten."""
        histories: dict[str, History] = {}
        async for part in slices(nodes):
            histories |= {node.name: self._next(node, now) for node in part}
        self._histories = histories
        self._seen_at = now

    def elapse(self, seconds: float) -> None:
        """Count time for the GPUs in the state that their nodes are in now."""
        for history in self._histories.values():
            history.gpu_seconds[history.state] += history.gpus * seconds

    def _next(self, node: Node, now: float) -> History:
        failed, earliest = is_failed(node), self._seen_at
        history = self._histories.get(node.name)
        if history is None:
            history, earliest = History("", 0, failed), 0.0
        history.state, history.gpus = self._state_labels(node), self._gpus(node)
        history.gpu_seconds.setdefault(history.state, 0.0)
        if failed and not history.failed:
            history.count_failure(joined(history.state, self._reason(node.reason)))
        if failed or history.failed:
            entered = min(max(_began(node) or now, earliest), now)
            history.unavailable.update(is_unavailable(node), entered, now)
            history.draining.update(is_draining(node), entered, now)
        history.failed = failed
        return history


def _began(node: Node) -> float | None:
    """When the node got into its present trouble, as far as Slurm tells."""
    since = node.reason_changed_at
    if since is not None and is_unavailable(node) and not node.is_down:
        return max(since, node.last_busy or 0)
    return since
