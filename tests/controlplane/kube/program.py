"""A whole operator process that labels ConfigMaps, slowly.

    python program.py KUBECONFIG NAMESPACE IDENTITY PROBES SECONDS

Each ConfigMap labelled `work` gets, after SECONDS of work, the annotation `done: IDENTITY`.
"""

import asyncio
import sys
from pathlib import Path

from slurmery.kube import config, logs
from slurmery.kube.client import Client
from slurmery.kube.controller import Controller, Result, TerminalError
from slurmery.kube.health import Address
from slurmery.kube.lease import Election, Timing
from slurmery.kube.meta import Key, Resource, Selection, View
from slurmery.kube.resources import CONFIG_MAPS
from slurmery.kube.runtime import Listen, Runtime


async def main(kubeconfig: str, namespace: str, identity: str, probes: str, seconds: str) -> None:
    loaded = config.load(Path(kubeconfig))
    timing = Timing(duration=2.0, renew=1.2, retry=0.2)
    election = Election(lambda: Client(loaded), Key(namespace, "lease"), identity, timing)
    async with Client(loaded) as client:
        runtime = Runtime(client, identity, Listen(probes=Address.parse(probes)))
        selection = Selection(CONFIG_MAPS, namespace, label_selector="work")
        cache = runtime.informer(selection, View)
        runtime.informer(Selection(Resource("example.com", "v1", "absents", "Absent")), View)

        async def reconcile(key: Key) -> Result:
            view = cache.store.get(key)
            if view and "done" not in view.annotations:
                await asyncio.sleep(float(seconds))
                await client.patch(CONFIG_MAPS, key, {"metadata": {"annotations": {"done": identity}}})
            return Result()

        async def report(key: Key, error: TerminalError) -> None: ...

        controller = Controller("configmap", reconcile, report, workers=4)
        controller.watch(cache)
        runtime.add(controller)
        await runtime.run(election)


if __name__ == "__main__":
    logs.configure(logs.Format.PLAIN, "info")
    asyncio.run(main(*sys.argv[1:]))
