"""The figures of the Nebius front door: twenty SlurmClusters at once."""

import asyncio
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import yaml

from bench import fleet
from bench.figure import Figure
from bench.fleet import Fleet, Limits
from bench.operator import operator
from dev import paths
from dev.controlplane import ControlPlane
from slurmery.api import nebius
from slurmery.doors.views import Custom
from slurmery.kube.client import Client
from slurmery.kube.resources import SECRETS
from slurmery.nebius.kinds import SLURM_CLUSTERS

CLUSTERS: Final = 20
WORKERS: Final = 50
_MADE: Final = {
    "/v1": "services configmaps secrets serviceaccounts",
    "apps/v1": "statefulsets deployments daemonsets",
    "rbac.authorization.k8s.io/v1": "roles rolebindings",
    "slurm.nebius.ai/v1alpha1": "jailedconfigs",
}
# These are nobody's: they outlive the cluster.
_KEPT: Final = frozenset({"mariadb-password", "mariadb-root"})


def figures() -> Iterator[Figure]:
    """Measure everything; a figure comes when it is known."""
    words = f"{CLUSTERS} clusters, {CLUSTERS * WORKERS:,} workers"
    made = Fleet(words, (SLURM_CLUSTERS,), _made, CLUSTERS)
    with tempfile.TemporaryDirectory() as folder, ControlPlane(Path(folder)) as plane:
        asyncio.run(_populate(plane))
        with operator(plane) as running:
            # Idle, it still asks twenty Slurms that do not answer.
            limits = Limits(seconds=12, cpu=12, mebibytes=120, idle=1.5)
            yield from fleet.figures(plane, running, made, limits)


async def _populate(plane: ControlPlane) -> None:
    await fleet.define(plane, nebius.KINDS)
    async with fleet.client(plane) as ours:
        for number in range(CLUSTERS):
            name = f"c{number}"
            await fleet.namespace(ours, name)
            await fleet.create(ours, SLURM_CLUSTERS, (name, name), _spec())


def _spec() -> dict[str, Any]:
    """The example's, with everything on and a jail that somebody else has filled."""
    text = (paths.ROOT / "examples/06-nebius/cluster.yaml").read_text()
    spec: dict[str, Any] = next(
        each["spec"] for each in yaml.safe_load_all(text) if each["kind"] == SLURM_CLUSTERS.kind
    )
    nodes = spec["slurmNodes"]
    nodes["worker"]["size"] = WORKERS
    # A port of the host is for one of them only.
    nodes["login"]["sshdServiceType"] = "LoadBalancer"
    nodes["login"].pop("sshdServiceNodePort")
    nodes["exporter"] |= {"enabled": True, "exporterContainer": {"image": "exporter"}}
    return {**spec, "maintenance": "skipPopulateJail"}


async def _made(ours: Client) -> int:
    for cluster in (await ours.list(SLURM_CLUSTERS, as_=Custom)).items:
        said = {each["type"]: each for each in (cluster.status or {})["conditions"]}
        assert said["Degraded"]["status"] == "False", said["Degraded"]["message"]
    found = await fleet.owned(ours, None, _MADE)
    sets = [each for each in found if each["metadata"]["name"] == "worker"]
    assert [each["spec"]["replicas"] for each in sets] == [WORKERS] * CLUSTERS
    kept = [each for each in (await ours.list(SECRETS)).items if each["metadata"]["name"] in _KEPT]
    return len(found) + len(kept)
