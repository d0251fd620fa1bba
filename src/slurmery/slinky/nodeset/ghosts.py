"""Slurm's records of nodes whose Kubernetes node is gone: pruneSlurmNodeRecords, in DaemonSet mode.

A record is a ghost only if all of this holds: Slurm has lost touch with the node and has set it down, no job
is on it, its comment says that it was a worker of this very NodeSet, that worker has no pod any more, and the
Kubernetes node that it ran on does not exist or has another name for Slurm by now. A slurmctld that lost its
state has no such comments. Only a few go in one pass, and each pass looks anew.
"""

import json
from collections.abc import Mapping
from typing import Any, Final

from slurmery.api.slinky import NodeSet
from slurmery.doors.hearing import Slurm
from slurmery.doors.pods import WorkerPod
from slurmery.slinky import names
from slurmery.slinky.nodeset.observe import DAEMON_SET, slurm_name
from slurmery.slinky.nodeset.views import Host
from slurmery.slurm.model import Node

_AT_ONCE: Final = 10


def found(
    nodeset: NodeSet, slurm: Slurm, pods: Mapping[str, WorkerPod], hosts: Mapping[str, Host]
) -> tuple[str, ...]:
    """The names of the records to delete now. Who sees no Kubernetes node at all sees no ghost either."""
    spec = nodeset.spec
    if spec.prune_slurm_node_records != "NodeNotFound" or spec.scaling_mode != DAEMON_SET or not hosts:
        return ()
    taken = {slurm_name(nodeset, pod) for pod in pods.values()}
    taken |= {_expected(host) for host in hosts.values()}
    ghosts = [
        name
        for name in slurm.snapshot.nodes
        if name not in taken and slurm.fresh(name) and _lost(slurm.node(name)) and _ours(nodeset, slurm, name)
    ]
    return tuple(sorted(ghosts)[:_AT_ONCE])


def _lost(node: Node | None) -> bool:
    return bool(node and node.is_down and "NOT_RESPONDING" in node.state and not node.is_busy)


def _ours(nodeset: NodeSet, slurm: Slurm, name: str) -> bool:
    facts = _facts(slurm.snapshot.nodes[name].comment)
    whose = (facts.get("namespace"), facts.get("nodeSetName"), facts.get("nodeSetUID"))
    metadata = nodeset.metadata
    return whose == (metadata.namespace, metadata.name, metadata.uid) and bool(facts.get("node"))


def _facts(comment: str) -> Mapping[str, Any]:
    try:
        facts = json.loads(comment)
    except ValueError:
        return {}
    return facts if isinstance(facts, dict) else {}


def _expected(host: Host) -> str:
    return host.annotations.get(names.HOSTNAME_OVERRIDE) or host.metadata.name.partition(".")[0]
