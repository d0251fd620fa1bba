"""From nodes as Slurm names them to NodeSets and ordinals."""

from collections import defaultdict
from collections.abc import Mapping

from slurmery.slurmconf.hostlist import HostlistError, expand


def by_nodeset(nodes: str) -> Mapping[str, frozenset[int]]:
    """The ordinals of each NodeSet in a hostlist. Raises HostlistError for what is no list of workers."""
    found: dict[str, set[int]] = defaultdict(set)
    for name in expand(nodes):
        nodeset, dash, digits = name.rpartition("-")
        if not dash or not nodeset or not digits.isdecimal():
            raise HostlistError(f"{name!r} is no worker of a NodeSet: it should end with a dash and a number")
        found[nodeset].add(int(digits))
    if not found:
        raise HostlistError("no node is named")
    return {nodeset: frozenset(ordinals) for nodeset, ordinals in found.items()}
