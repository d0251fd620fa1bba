"""What a thousand small objects cost the apply engine: when they are new, and when nothing has changed."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from bench.fresh import Meter
from slurmery.kube import config
from slurmery.kube.apply import Act, Applier
from slurmery.kube.client import Client
from slurmery.kube.desired import Desired, Owner
from slurmery.kube.discovery import Discovery
from slurmery.kube.informer import Informer
from slurmery.kube.meta import Key, Resource, Selection
from slurmery.kube.observed import OWNER_INDEX, Cached, owners
from slurmery.kube.ownership import Footprint
from slurmery.kube.resources import CONFIG_MAPS

OBJECTS = 1000
CLUSTERS = Resource("slurm.nebius.ai", "v1", "slurmclusters", "SlurmCluster")
LABELS = {"app.kubernetes.io/managed-by": "slurm-operator", "app.kubernetes.io/instance": "bench"}


async def apply(kubeconfig: str, namespace: str, agent: str, expected: str) -> dict[str, float]:
    """One pass over the thousand by a process that has just filled its caches."""
    owner = Owner(CLUSTERS, Key(namespace, "bench"), f"uid-of-{namespace}", LABELS)
    desired = [_desired(namespace, number) for number in range(OBJECTS)]
    async with Client(config.load(Path(kubeconfig)), user_agent=agent) as client, _cache(client) as cache:
        applier = Applier(client, Cached(client, [cache]), Discovery(client))
        with Meter() as meter:
            outcomes = await applier.apply(owner, desired, prune=[CONFIG_MAPS])
    return {"cpu": meter.cpu, "as expected": sum(outcome.act is Act(expected) for outcome in outcomes)}


def _desired(namespace: str, number: int) -> Desired:
    lines = "\n".join(f"Option{line}=value-{number}" for line in range(10))
    manifest = {
        "apiVersion": CONFIG_MAPS.api_version,
        "kind": CONFIG_MAPS.kind,
        "metadata": {"name": f"conf-{number}", "namespace": namespace},
        "data": {"slurm.conf": lines, "gres.conf": "AutoDetect=nvidia\n"},
    }
    return Desired(CONFIG_MAPS, manifest)


@asynccontextmanager
async def _cache(client: Client) -> AsyncIterator[Informer[Footprint]]:
    selection = Selection(CONFIG_MAPS, metadata_only=True)
    informer = Informer(client, selection, Footprint, indexes={OWNER_INDEX: owners})
    running = asyncio.create_task(informer.run())
    await informer.synced.wait()
    try:
        yield informer
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
