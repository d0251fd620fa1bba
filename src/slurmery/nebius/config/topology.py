"""topology.conf, given where each worker stands in the network.

    tier-N … tier-2 ── tier-1 ── worker     a tree of switches: tier-1 is the leaf
    tier-0 ── worker                        a block

A worker whose place is not known, because it does not run yet or its node has no labels, stands under the
switch or block `unknown`. In 5.0 every fabric has a root and an `unknown` of its own; there a root is written
also when it has a single child, so that a fabric does not change its name when it grows.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final

from slurmery.slurmconf.hostlist import compress, natural
from slurmery.slurmconf.text import entry, record

ROOT: Final = "root"
UNKNOWN: Final = "unknown"
_LONG_NUMBER: Final = re.compile(r"[0-9]{19,}$")


@dataclass(frozen=True)
class Place:
    """Where a worker stands: names of switches by tier, and the fabric of its NodeSet."""

    worker: str
    tiers: Mapping[int, str] = field(default_factory=dict)
    fabric: str = ""

    @property
    def path(self) -> tuple[str, ...]:
        """The switches from the leaf upwards; nothing if there is a gap among them."""
        tiers = [tier for tier in self.tiers if tier > 0]
        path = tuple(self.tiers.get(tier, "") for tier in range(1, max(tiers, default=0) + 1))
        return tuple(_safe(name) for name in path) if all(path) else ()


def tree(places: Iterable[Place], *, always_root: bool) -> str:
    """Lines for topology/tree; `always_root` is the way of 5.0."""
    switches: dict[str, set[str]] = defaultdict(set)
    leaves: dict[str, set[str]] = defaultdict(set)
    tops: dict[str, set[str]] = defaultdict(set)
    for place in places:
        path = place.path or (_unknown(place.fabric),)
        leaves[path[0]].add(place.worker)
        for below, above in pairwise(path):
            switches[above].add(below)
        tops[place.fabric or ROOT].add(path[-1])
    below_another = {child for children in switches.values() for child in children}
    for root, children in tops.items():
        parentless = children - below_another
        if always_root or len(parentless) > 1:
            switches[root] |= parentless
    lines = [_line(name, "Switches", children) for name, children in switches.items()]
    lines += [_line(name, "Nodes", workers) for name, workers in leaves.items() if name not in switches]
    return "".join(f"{line}\n" for line in sorted(lines))


def blocks(places: Iterable[Place], size: int) -> str:
    """Lines for topology/block."""
    members: dict[str, set[str]] = defaultdict(set)
    for place in places:
        members[_safe(place.tiers.get(0, "")) or _unknown(place.fabric)].add(place.worker)
    lines = sorted(record(("BlockName", name), ("Nodes", _hosts(found))) for name, found in members.items())
    return "".join(f"{line}\n" for line in [*lines, entry("BlockSizes", size)]) if lines else ""


def _unknown(fabric: str) -> str:
    return f"{fabric}.{UNKNOWN}" if fabric else UNKNOWN


def _safe(name: str) -> str:
    """Slurm counts the digits at the end of a name in 64 bits; more of them must not look like a number."""
    return f"{name}_" if _LONG_NUMBER.search(name) else name


def _line(name: str, kind: str, members: set[str]) -> str:
    return record(("SwitchName", name), (kind, _hosts(members)))


def _hosts(members: Iterable[str]) -> str:
    return compress(sorted(members, key=natural))
