"""A SlurmCluster with ActiveChecks, and the program that runs them, with or without a real Slurm."""

import asyncio
import base64
import uuid
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

from dev.controlplane import ControlPlane
from slurmery.api.nebius import ActiveCheck, SlurmCluster
from slurmery.health.active.program import Settings, wire
from slurmery.health.active.reconcile import ACTIVE_CHECKS
from slurmery.kube import config
from slurmery.kube.client import Client
from slurmery.kube.meta import Key
from slurmery.kube.resources import NAMESPACES, SECRETS
from slurmery.kube.runtime import Listen, Runtime
from slurmery.nebius.kinds import SLURM_CLUSTERS
from tests.controlplane.definitions import define
from tests.controlplane.slinky.scene import NOWHERE, OPERATOR, Scene, until
from tests.unit.nebius.clusters import manifest

CLUSTER = "aurora"


@contextmanager
def control_plane(folder: Path, *, controllers: bool = False) -> Iterator[ControlPlane]:
    """An API server that knows the kinds; with Kubernetes' own controllers where pods must come of Jobs."""
    with ControlPlane(folder) as plane:
        if controllers:
            plane.start_controller_manager()
        asyncio.run(define(plane, (ActiveCheck, SlurmCluster)))
        yield plane


@asynccontextmanager
async def cluster(plane: ControlPlane, key: bytes = b"key") -> AsyncIterator[Scene]:
    """A namespace of the test's own with a SlurmCluster; `key` signs tokens for its Slurm."""
    name = f"test-{uuid.uuid4().hex[:8]}"
    async with Client(config.load(plane.kubeconfig)) as client:
        await client.create(NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        scene = Scene(plane, client, name)
        await scene.create(SLURM_CLUSTERS, CLUSTER, manifest("1.22", "SlurmCluster")["spec"])
        data = {"rest_jwt.key": base64.b64encode(key).decode()}
        metadata = {"name": f"{CLUSTER}-rest-jwt-key", "namespace": name}
        await client.create(
            SECRETS, {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": data}
        )
        yield scene
        await client.delete(NAMESPACES, Key("", name))


async def phase(client: Client, cluster: Key, word: str) -> None:
    """Say of a SlurmCluster how it stands, as the operator would."""
    await client.patch(SLURM_CLUSTERS, cluster, {"status": {"phase": word}}, subresource="status")


@asynccontextmanager
async def checks(
    plane: ControlPlane, namespace: str, url: str = NOWHERE, **settings: Any
) -> AsyncIterator[None]:
    """The program at work; `url` is where it finds every Slurm."""
    async with Client(config.load(plane.kubeconfig), user_agent=OPERATOR) as client:
        runtime = Runtime(client, "test", Listen())
        wire(runtime, Settings(namespaces=(namespace,), every=1.0, **settings), reach=lambda _: url)
        running = asyncio.create_task(runtime.run())
        try:
            yield
        finally:
            runtime.stop()
            await running


async def latest_run(client: Client, check: Key) -> dict[str, Any]:
    """The latest run of a check in Slurm."""
    found = await client.get(ACTIVE_CHECKS, check)
    return dict(found.get("status", {}).get("slurmJobsStatus") or {})


async def run_becomes(client: Client, check: Key, state: str, seconds: float = 60) -> dict[str, Any]:
    """Wait until the latest run of a check in Slurm stands so."""

    async def said() -> dict[str, Any] | None:
        status = await latest_run(client, check)
        return status if status.get("lastRunStatus") == state else None

    return await until(said, seconds)
