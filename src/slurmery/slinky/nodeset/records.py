"""What Slurm's records of the nodes should say, as far as Kubernetes knows it.

    comment     which pod it is and where it runs, as JSON; by this a record is known to be ours later on
    features    k8s/a,k8s/b from the annotation features.slinky.slurm.net/spec of the Kubernetes node
    topology    from the annotation topology.slinky.slurm.net/spec of the Kubernetes node
    state       a node that was set down when its pod ended, as it says itself, is back with a new pod

Without an annotation, a topology is left as it is: Slurm runs no job on a node whose topology was emptied.
Only healthy workers are spoken of.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from slurmery.api.slinky import NodeSet
from slurmery.doors.conditions import Problem
from slurmery.doors.words import Word
from slurmery.slinky import names
from slurmery.slinky.nodeset import conf
from slurmery.slinky.nodeset.views import Host
from slurmery.slurm.model import Node
from slurmery.slurm.requests import NodeUpdate
from slurmery.workers.model import Worker

# What may stand in a list of Slurm's; the rest means something there, or to the shell that starts slurmd.
_FEATURE: Final = re.compile(r"[A-Za-z0-9_.:/=+@%-]+")
_TOPOLOGY: Final = re.compile(r"[A-Za-z0-9_.:/,-]+")


def words(nodeset: NodeSet, workers: Iterable[Worker], hosts: Mapping[str, Host]) -> tuple[Word, ...]:
    """What is to be told; each thing by itself, so that one that is refused holds up no other."""
    return tuple(
        (worker.slurm_name, update)
        for worker in workers
        if worker.healthy and worker.slurm
        for update in _updates(nodeset, worker, worker.slurm, hosts.get(worker.host))
    )


def problems(workers: Iterable[Worker], hosts: Mapping[str, Host]) -> tuple[Problem, ...]:
    """The annotations that cannot be told: each harms the worker on its node, and no other."""
    used = sorted({worker.host for worker in workers} & hosts.keys())
    wrong = [(name, key) for name in used for key in _WRITTEN if _written(hosts[name], key) is None]
    return tuple(
        Problem("InvalidAnnotation", f"Annotation {key} of node {name} is not a list that Slurm can take.")
        for name, key in wrong
    )


def topology(host: Host | None) -> str:
    """What a Kubernetes node says of its place in the network; empty if nothing that can be used."""
    return (_written(host, names.TOPOLOGY_SPEC) or "") if host else ""


def comment(nodeset: NodeSet, worker: Worker) -> str:
    """Which pod a node is."""
    facts = {
        "namespace": nodeset.metadata.namespace,
        "podName": worker.pod,
        "node": worker.host,
        "nodeSetName": nodeset.metadata.name,
        "nodeSetUID": nodeset.metadata.uid,
    }
    return json.dumps(facts, separators=(",", ":"))


def _updates(nodeset: NodeSet, worker: Worker, node: Node, host: Host | None) -> Iterator[NodeUpdate]:
    if _came_back(worker, node):
        yield NodeUpdate(state=("RESUME",))
    if node.comment != comment(nodeset, worker):
        yield NodeUpdate(comment=comment(nodeset, worker))
    wanted = topology(host)
    if wanted and wanted != node.topology and not _own_topology(nodeset):
        yield NodeUpdate(topology_str=wanted)
    if host:
        yield from _features(node, host)


def _came_back(worker: Worker, node: Node) -> bool:
    """Whether a new pod answers for a node that was set down as the old one ended.

    An undrain leaves such a node down, and without a reason.
    """
    ended = node.is_down and node.reason in (names.FAREWELL, "") and "NOT_RESPONDING" not in node.state
    return ended and worker.ready_since > (node.reason_changed_at or 0)


def _features(node: Node, host: Host) -> Iterator[NodeUpdate]:
    written = _written(host, names.FEATURES_SPEC)
    if written is None:
        return
    ours = [names.FEATURE_PREFIX + feature for feature in _items(written)]
    available, active = (
        (*(each for each in there if not each.startswith(names.FEATURE_PREFIX)), *ours)
        for there in (node.features, node.active_features)
    )
    if (set(available), set(active)) != (set(node.features), set(node.active_features)):
        yield NodeUpdate(features=available, features_act=active)


def _own_topology(nodeset: NodeSet) -> bool:
    try:
        return bool(conf.value_of(conf.parameters(nodeset.spec.extra_conf), "topology"))
    except conf.ConfError:
        return False


def _items(text: str) -> list[str]:
    return sorted({item.strip() for item in text.split(",")} - {""})


def _written(host: Host, key: str) -> str | None:
    """The annotation; empty if there is none, None if it cannot be told."""
    text = host.annotations.get(key, "").strip()
    fits = all(_WRITTEN[key].fullmatch(item) for item in _items(text))
    return text if fits else None


_WRITTEN: Final = {names.TOPOLOGY_SPEC: _TOPOLOGY, names.FEATURES_SPEC: _FEATURE}
