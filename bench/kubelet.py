"""A scheduler and kubelet that only say what real ones would: pods get a node, run, and end when told to.

    python -m bench.kubelet KUBECONFIG NAMESPACE HOSTS

A process of its own, so that its CPU time is not ours. kwok deletes pods by name: at this pace it takes the
successor along, whose name is the same.
"""

import asyncio
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

import msgspec

from dev.controlplane import ControlPlane
from slurmery.kube import config
from slurmery.kube.client import Client
from slurmery.kube.errors import ApiError
from slurmery.kube.informer import Informer
from slurmery.kube.meta import Selection, View
from slurmery.kube.resources import PODS

AT_ONCE = 8


class _Spec(msgspec.Struct, frozen=True, rename="camel"):
    node_name: str = ""


class Pod(View, frozen=True, gc=False):
    """A pod and where it runs."""

    spec: _Spec = _Spec()


@contextmanager
def kubelet(plane: ControlPlane, namespace: str, hosts: int) -> Iterator[None]:
    """While this lasts, pods run."""
    command = [sys.executable, "-m", "bench.kubelet", str(plane.kubeconfig), namespace, str(hosts)]
    with subprocess.Popen(command) as process:
        try:
            yield
        finally:
            process.kill()


async def play(kubeconfig: str, namespace: str, hosts: int) -> None:
    """Care for all pods of a namespace, until cancelled."""
    waiting: asyncio.Queue[Pod] = asyncio.Queue()
    turns = count()

    def note(old: Pod | None, new: Pod | None) -> None:
        fresh = old is None or new is None or old.metadata.uid != new.metadata.uid
        if new and (fresh or (new.deleting and old and not old.deleting)):
            waiting.put_nowait(new)

    async with Client(config.load(Path(kubeconfig)), user_agent="bench kubelet") as client:

        async def care() -> None:
            while True:
                pod = await waiting.get()
                try:
                    await (_end(client, pod) if pod.deleting else _run(client, pod, next(turns) % hosts))
                except ApiError:
                    continue  # gone meanwhile

        pods = Informer(client, Selection(PODS, namespace), Pod)
        pods.subscribe(note)
        await asyncio.gather(pods.run(), *(care() for _ in range(AT_ONCE)))


async def _run(client: Client, pod: Pod, host: int) -> None:
    if not pod.spec.node_name:
        target = {"apiVersion": "v1", "kind": "Node", "name": f"{pod.metadata.namespace}-{host}"}
        binding = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": pod.metadata.name}}
        path = PODS.path(*pod.key, "binding")
        await client.request("POST", path, body={**binding, "target": target})
    now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    ready = {"type": "Ready", "status": "True", "lastTransitionTime": now}
    status = {"phase": "Running", "conditions": [ready]}
    await client.patch(PODS, pod.key, {"status": status}, kind="strategic", subresource="status")


async def _end(client: Client, pod: Pod) -> None:
    await client.delete(PODS, pod.key, uid=pod.metadata.uid, grace_seconds=0)


if __name__ == "__main__":
    asyncio.run(play(sys.argv[1], sys.argv[2], int(sys.argv[3])))
