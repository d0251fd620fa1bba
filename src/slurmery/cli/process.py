"""What all long-running programs do alike: serve the kubelet and Prometheus, lead, work, stop in time."""

import asyncio
import os
import socket
import ssl
import uuid
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from datetime import timedelta
from importlib import import_module

from slurmery.cli.settings.shared import LeaderSettings, ServeSettings
from slurmery.kube import config, metrics, tracing
from slurmery.kube.authorize import Authorizer
from slurmery.kube.client import Client
from slurmery.kube.config import Config
from slurmery.kube.lease import Election
from slurmery.kube.meta import Key
from slurmery.kube.runtime import Listen, Runtime
from slurmery.kube.transport import unfenced

# Gives a runtime its informers and controllers, and holds what lives around it.
Wire = Callable[[Runtime], AbstractAsyncContextManager[None]]


def run(settings: ServeSettings, wire: Wire, *, sync: timedelta = timedelta(minutes=2)) -> None:
    """Live until SIGTERM. Raises KubeError or OSError for what a person must mend."""
    asyncio.run(_live(settings, wire, sync))


async def _live(settings: ServeSettings, wire: Wire, sync: timedelta) -> None:
    cluster = config.load(settings.kubeconfig)
    cluster = replace(cluster, namespace=settings.home or cluster.namespace)
    identity = f"{socket.gethostname()}_{uuid.uuid4()}"
    election = _election(settings, cluster, identity)
    fence = election.fence if election else unfenced
    # Reviews of who may read metrics are every replica's business; all other writes are the leader's.
    async with (
        tracing.exporting(os.environ),
        _client(cluster) as anyone,
        _client(cluster, fence) as leader,
    ):
        runtime = Runtime(leader, identity, _listen(settings, anyone), sync_seconds=sync.total_seconds())
        async with wire(runtime):
            await runtime.run(election)


def _listen(settings: ServeSettings, client: Client) -> Listen:
    listen = Listen(probes=settings.health_probe_bind_address, metrics=settings.metrics_bind_address)
    if not settings.metrics_secure:
        return listen
    # Ten megabytes that only those pay who ask for it.
    tls: ssl.SSLContext = import_module("slurmery.cli.selfsigned").server_tls(socket.gethostname())
    return replace(listen, metrics_tls=tls, metrics_guard=Authorizer(client))


def _client(cluster: Config, fence: Callable[[], None] = unfenced) -> Client:
    return Client(cluster, observe=metrics.request_counter(cluster.server), fence=fence)


def _election(settings: ServeSettings, cluster: Config, identity: str) -> Election | None:
    if not isinstance(settings, LeaderSettings) or not settings.leader_elect:
        return None
    lease = Key(settings.leader_elect_namespace or cluster.namespace, settings.leader_election_id)
    return Election(lambda: _client(cluster), lease, identity)
