"""NodeSets and partitions in slurm.conf: those that are wanted, and those that cannot go yet.

slurmctld crashes, and then again at every start, when a partition vanishes that one of its job records still
names (also of a finished job, for MinJobAge). So a partition that is no longer wanted stays, closed to new
jobs, until Slurm says that no job names it. Not knowing counts as in use.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from slurmery.api.slinky import NodeSet
from slurmery.doors.conditions import Problem
from slurmery.slinky import names
from slurmery.slurmconf import text

# To Slurm, DEFAULT is nothing itself but the defaults of those that follow, and ALL is every node.
_DEFAULTS: Final = "default"
_SPECIAL: Final = frozenset({_DEFAULTS, "all"})
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_PAIR: Final = re.compile(r"([\w.]+)\s*=\s*(\"[^\"]*\"|\S+)")
_OPTIONS: Final = re.compile(r"(?:\s*\w+=(?:\"[^\"\\#]*\"|[^\s\"\\#]+)(?=\s|$))*\s*")

_USUAL_NODE_COUNT: Final = 1024


@dataclass(frozen=True)
class Partitions:
    """Lines for slurm.conf, what was wrong with the wanted ones, and the names of those that must wait."""

    lines: tuple[str, ...]
    problems: tuple[Problem, ...] = ()
    waiting: tuple[str, ...] = ()


def stem(nodeset: NodeSet) -> str:
    """What Slurm calls the NodeSet."""
    hostname = nodeset.spec.template.spec.get("hostname") or ""
    return names.slurm_nodeset(nodeset.metadata.name, str(hostname))


def plan(
    nodesets: Iterable[NodeSet], extra_conf: str, in_force: str, job_partitions: frozenset[str] | None
) -> Partitions:
    """The lines for these NodeSets, and for partitions in force that jobs may still name."""
    live = _read(text.lines(in_force))
    wanted = _Wanted(live)
    for nodeset in sorted(nodesets, key=lambda each: each.metadata.name):
        wanted.add(nodeset)
    stated = _read([*wanted.lines, *text.lines(extra_conf)])
    waiting = {
        name: line
        for name, line in live.partitions.items()
        if name not in stated.partitions and _in_use(name, job_partitions)
    }
    closed = [_closed(line) for _, line in sorted(waiting.items())]
    needed = {word for line in closed for word in re.split(r"[\s,=\"]+", line)}
    kept = [
        line for name, line in sorted(live.nodesets.items()) if name in needed and name not in stated.nodesets
    ]
    return Partitions((*wanted.lines, *kept, *closed), tuple(wanted.problems), tuple(sorted(waiting)))


def node_count(nodesets: Iterable[NodeSet], before: str) -> int:
    """How many nodes Slurm must make room for: never less than before, as only a restart changes it."""
    wanted = sum(_size(nodeset) for nodeset in nodesets)
    room = max(_USUAL_NODE_COUNT, int(before) if before.isdecimal() else 0)
    while room < wanted:
        room *= 2
    return room


def _size(nodeset: NodeSet) -> int:
    if nodeset.spec.scaling_mode == "DaemonSet":
        return nodeset.status.desired if nodeset.status else 0
    return nodeset.spec.replicas


@dataclass(frozen=True)
class _Stated:
    """Lines of a slurm.conf by the name that they define."""

    nodesets: dict[str, str]
    partitions: dict[str, str]


def _read(lines: Iterable[str]) -> _Stated:
    found: dict[str, dict[str, str]] = {"nodeset": {}, "partitionname": {}}
    for line in lines:
        first = _PAIR.match(line.strip())
        defined = found.get(first[1].lower()) if first else None
        if first and defined is not None and first[2].lower() != _DEFAULTS:
            defined[first[2].strip('"')] = line.strip()
    return _Stated(found["nodeset"], found["partitionname"])


@dataclass
class _Wanted:
    """The lines of the NodeSets, as they are gathered."""

    live: _Stated
    lines: list[str] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    _owners: dict[str, str] = field(default_factory=dict)

    def add(self, nodeset: NodeSet) -> None:
        name = stem(nodeset)
        if not _NAME.fullmatch(name) or name.lower() in _SPECIAL:
            self._refuse(nodeset, f"its name in Slurm would be {name!r}, which Slurm does not take")
            return
        line = text.record(("NodeSet", name), ("Feature", name))
        if line not in self.lines:
            self.lines.append(line)
        if nodeset.spec.partition.enabled:
            self._add_partition(nodeset, name)

    def _add_partition(self, nodeset: NodeSet, name: str) -> None:
        if name in self._owners:
            self._refuse(nodeset, f"NodeSet {self._owners[name]} has a partition {name} already")
            return
        self._owners[name] = nodeset.metadata.name
        options = nodeset.spec.partition.config or ""
        reason = _fault(options)
        if not reason:
            line = text.record(("PartitionName", name), ("Nodes", name))
            self.lines.append(f"{line} {options.strip()}".rstrip())
            return
        self._refuse(nodeset, reason)
        if name in self.live.partitions:
            self.lines.append(self.live.partitions[name])

    def _refuse(self, nodeset: NodeSet, reason: str) -> None:
        message = f"NodeSet {nodeset.metadata.name} is left out or as it was in slurm.conf: {reason}."
        self.problems.append(Problem("NodeSetRefused", message))


def _fault(options: str) -> str:
    """What is wrong with the options of a partition line; "" if nothing."""
    if not options.isprintable():
        return "partition.config has a line break or control character"
    if not _OPTIONS.fullmatch(options):
        return "partition.config must be Key=Value pairs with spaces between them"
    keys = [match[1].lower() for match in _PAIR.finditer(options)]
    return "partition.config must not name another partition" if "partitionname" in keys else ""


def _in_use(name: str, job_partitions: frozenset[str] | None) -> bool:
    return job_partitions is None or not job_partitions.isdisjoint(name.split(","))


def _closed(line: str) -> str:
    """The partition as it was, except that it takes no new jobs."""
    kept = [pair[0] for pair in _PAIR.finditer(line) if pair[1].lower() not in {"state", "default"}]
    return " ".join([*kept, "State=DRAIN"])
