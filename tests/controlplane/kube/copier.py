"""A small operator: a ConfigMap labelled `wish` gets a Secret of its name that holds what its `content` says.

    python copier.py KUBECONFIG NAMESPACE IDENTITY PROBES

runs one replica. SIGUSR1 blocks its event loop for BLOCK_SECONDS, announced on stdout. SIGUSR2 stops all of
it, as SIGSTOP does, but never between asking the fence and the system call that follows: what is stopped
there is as good as sent, and no program can guard that instant.
"""

import asyncio
import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from slurmery.kube import config, logs
from slurmery.kube.apply import Applier
from slurmery.kube.client import Client
from slurmery.kube.controller import Controller, Result, TerminalError, controller_of
from slurmery.kube.desired import Desired, Owner
from slurmery.kube.discovery import Discovery
from slurmery.kube.health import Address
from slurmery.kube.informer import Informer
from slurmery.kube.lease import Election, Timing
from slurmery.kube.meta import Key, Selection
from slurmery.kube.observed import OWNER_INDEX, Cached, owners
from slurmery.kube.ownership import Footprint
from slurmery.kube.resources import CONFIG_MAPS, SECRETS
from slurmery.kube.runtime import Listen, Runtime

LABELS = {"app.kubernetes.io/managed-by": "copier"}
# Long enough that a busy machine does not end a term by itself; the block is longer than any term.
TIMING = Timing(duration=4.0, renew=3.0, retry=0.3)
BLOCK_SECONDS = 5.0

Watch = Callable[[Selection, type[Footprint], dict[str, Callable[[Footprint], tuple[str, ...]]]], Any]


class Copier:
    """The operator without its process: informers come from `watch`."""

    def __init__(self, client: Client, namespace: str, watch: Watch) -> None:
        wishes = Selection(CONFIG_MAPS, namespace, label_selector="wish", metadata_only=True)
        copies = Selection(SECRETS, namespace, metadata_only=True)
        self.wishes: Informer[Footprint] = watch(wishes, Footprint, {})
        self.copies: Informer[Footprint] = watch(copies, Footprint, {OWNER_INDEX: owners})
        self._applier = Applier(client, Cached(client, [self.copies]), Discovery(client))
        self.controller = Controller("copier", self._reconcile, self._report, workers=8)
        self.controller.watch(self.wishes)
        self.controller.watch(self.copies, controller_of(CONFIG_MAPS))

    async def _reconcile(self, key: Key) -> Result:
        wish = self.wishes.store.get(key)
        if wish:
            owner = Owner(CONFIG_MAPS, key, wish.metadata.uid, LABELS)
            metadata = {"name": key.name, "namespace": key.namespace}
            secret = {"apiVersion": "v1", "kind": "Secret", "metadata": metadata}
            data = {"content": wish.annotations["content"]}
            await self._applier.apply(owner, [Desired(SECRETS, {**secret, "data": data})])
        return Result()

    async def _report(self, key: Key, error: TerminalError) -> None:
        raise error


def block() -> None:
    print("blocked", flush=True)
    time.sleep(BLOCK_SECONDS)
    print("awake", flush=True)


async def main(kubeconfig: str, namespace: str, identity: str, probes: str) -> None:
    loaded = config.load(Path(kubeconfig))
    election = Election(
        lambda: Client(loaded, user_agent=identity), Key(namespace, "lease"), identity, TIMING
    )
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGUSR1, block)
    loop.add_signal_handler(signal.SIGUSR2, os.kill, os.getpid(), signal.SIGSTOP)
    async with Client(loaded, user_agent=identity, fence=election.fence) as client:
        runtime = Runtime(client, identity, Listen(probes=Address.parse(probes)))
        copier = Copier(client, namespace, runtime.informer)
        runtime.add(copier.controller)
        await runtime.run(election)


if __name__ == "__main__":
    logs.configure(logs.Format.PLAIN, "warn")
    asyncio.run(main(*sys.argv[1:]))
