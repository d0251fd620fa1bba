"""What an operator weighs that has filled its caches and has nothing to do."""

import asyncio
from pathlib import Path

from bench import pods
from bench.caching import Pod, owner
from bench.fresh import resident
from slurmery.api.kinds import registry
from slurmery.kube import config
from slurmery.kube.client import Client
from slurmery.kube.controller import Controller, Result, TerminalError, controller_of
from slurmery.kube.health import Address
from slurmery.kube.lease import Election
from slurmery.kube.meta import Key, Selection
from slurmery.kube.observed import OWNER_INDEX, owners
from slurmery.kube.ownership import Footprint
from slurmery.kube.resources import CONFIG_MAPS, PODS, SECRETS, SERVICES, STATEFUL_SETS
from slurmery.kube.runtime import Listen, Runtime

IDLE_SECONDS = 5.0
MIB = 1 << 20


async def idle(kubeconfig: str) -> dict[str, float]:
    """The memory of a leader that watches all pods and the objects of its clusters, after a while of rest."""
    models = registry()
    loaded = config.load(Path(kubeconfig))
    election = Election(lambda: Client(loaded), Key(pods.NAMESPACE, "bench"), "bench")
    async with Client(loaded, fence=election.fence) as client:
        runtime = Runtime(client, "bench", Listen(probes=Address("127.0.0.1", 0)))
        cache = runtime.informer(Selection(PODS), Pod, {OWNER_INDEX: owner})
        for kind in (CONFIG_MAPS, SECRETS, SERVICES, STATEFUL_SETS):
            runtime.informer(Selection(kind, metadata_only=True), Footprint, {OWNER_INDEX: owners})
        controller = Controller("nodeset", _look, _tell)
        controller.watch(cache, controller_of(pods.NODE_SETS))
        runtime.add(controller)
        running = asyncio.create_task(runtime.run(election))
        while not election.leading or len(controller.queue):  # noqa: ASYNC110
            await asyncio.sleep(0.1)
        await asyncio.sleep(IDLE_SECONDS)
        weight = resident() / MIB
        runtime.stop()
        await running
    return {"mebibytes": weight, "pods": len(cache.store), "models": len(models)}


async def _look(_: Key) -> Result:
    return Result()


async def _tell(_: Key, error: TerminalError) -> None:
    raise error
