"""SlurmClusters of both generations, as the charts write them and changed as tests need them."""

from collections.abc import Iterable
from copy import deepcopy
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from slurmery.api.nebius import NodeSet, SlurmCluster
from slurmery.kube.desired import Desired
from slurmery.nebius.cluster import Cluster
from slurmery.nebius.cluster import cluster as build
from tests.unit.slinky import golden

DATA = Path(__file__).parents[2] / "data" / "nebius"
GOLDEN = golden.DIRECTORY.parent / "nebius"


@cache
def _manifests(version: str) -> list[dict[str, Any]]:
    return list(yaml.safe_load_all((DATA / f"soperator-{version}.yaml").read_text()))


def manifest(version: str, kind: str) -> dict[str, Any]:
    """The first object of a kind."""
    found = next(each for each in _manifests(version) if each["kind"] == kind)
    return deepcopy({**found, "metadata": {**found["metadata"], "namespace": "slurm", "uid": "u-1"}})


def nodeset(name: str, replicas: int = 4, **changes: Any) -> NodeSet:
    """A NodeSet; keys of `changes` are paths such as `nodeConfig__static`."""
    given = manifest("5.0", "NodeSet")
    given["metadata"]["name"] = name
    given["spec"] = {"slurmd": given["spec"]["slurmd"], "munge": given["spec"]["munge"], "replicas": replicas}
    return NodeSet.model_validate(changed(given, changes))


def cluster(
    version: str = "1.22", nodesets: tuple[NodeSet, ...] = (), *, born_bare: bool = False, **changes: Any
) -> Cluster:
    """A cluster; keys of `changes` are paths in its spec such as `slurmNodes__login__size`."""
    given = changed(manifest(version, "SlurmCluster"), changes)
    return build(SlurmCluster.model_validate(given), nodesets, born_bare=born_bare)


def at(path: str, value: Any) -> dict[str, Any]:
    """One change, of a path that is put together."""
    return {path: value}


def changed(given: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    for path, value in changes.items():
        *steps, last = path.split("__")
        part = given["spec"]
        for step in steps:
            part = part.setdefault(step, {})
        if value is None:
            part.pop(last, None)
        else:
            part[last] = value
    return given


def check(name: str, objects: Iterable[Desired | None]) -> None:
    """The objects are what the reviewed file says."""
    golden.check(name, [each.manifest for each in objects if each], GOLDEN)
