"""A process that stands for election and, while it leads, counts in a ConfigMap as fast as it can.

    python contender.py KUBECONFIG NAMESPACE IDENTITY DURATION RENEW RETRY

Each write carries the identity and the clock of its sender at the fence; "led" and "over" go to stdout.
"""

import asyncio
import contextlib
import os
import signal
import sys
import time
from pathlib import Path

from slurmery.kube import config, logs
from slurmery.kube.client import Client
from slurmery.kube.errors import NoAnswerError
from slurmery.kube.lease import Election, NotLeadingError, Timing
from slurmery.kube.meta import Key
from slurmery.kube.resources import CONFIG_MAPS


async def write(client: Client, key: Key, identity: str) -> None:
    metadata = {"name": key.name, "namespace": key.namespace}
    manifest = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}
    while True:
        await asyncio.sleep(0.005)
        data = {"writer": identity, "at": str(time.monotonic())}
        with contextlib.suppress(NoAnswerError):  # a connection may not survive the pause
            await client.apply(CONFIG_MAPS, {**manifest, "data": data}, manager=identity)


async def main(kubeconfig: str, namespace: str, identity: str, *times: str) -> None:
    loaded = config.load(Path(kubeconfig))
    loop = asyncio.get_running_loop()
    # Pauses all of the process, but never between asking the fence and the system call that follows.
    loop.add_signal_handler(signal.SIGUSR2, os.kill, os.getpid(), signal.SIGSTOP)
    led, over = asyncio.Event(), asyncio.Event()

    def changed(leading: bool) -> None:
        loop.call_soon_threadsafe((led if leading else over).set)

    duration, renew, retry = map(float, times)
    election = Election(
        lambda: Client(loaded),
        Key(namespace, "lease"),
        identity,
        Timing(duration=duration, renew=renew, retry=retry),
    )
    election.start(changed)
    await led.wait()
    print("led", flush=True)
    async with Client(loaded, fence=election.fence) as client:
        try:
            await write(client, Key(namespace, "counter"), identity)
        except NotLeadingError:
            await over.wait()
            print("over", flush=True)


if __name__ == "__main__":
    logs.configure(logs.Format.PLAIN, "info")
    asyncio.run(main(*sys.argv[1:]))
