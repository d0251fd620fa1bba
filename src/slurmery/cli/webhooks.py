"""Webhooks in a process: beside the reconcilers of the operator, or alone."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from slurmery.admission.service import OwnAuthority, running, service_hosts
from slurmery.cli.settings.shared import HookSettings
from slurmery.kube.client import Client
from slurmery.kube.logs import logger
from slurmery.kube.meta import Key
from slurmery.kube.runtime import Runtime

log = logger("webhooks")


@asynccontextmanager
async def webhooks(settings: HookSettings, runtime: Runtime) -> AsyncIterator[None]:
    """Serve all webhooks, and be ready only when they can be trusted."""
    if settings.server_addr is None:
        yield
        return
    cluster = runtime.client.config
    certificates = _certificates(settings, cluster.namespace)
    # A client of their own: every replica answers reviews and keeps certificates, leading or not.
    async with Client(cluster) as client, running(client, settings.server_addr, certificates) as service:
        runtime.probes.ready["webhooks"] = service.unready
        log.info("Webhooks served", port=service.port)
        yield


def _certificates(settings: HookSettings, namespace: str) -> Path | OwnAuthority:
    """Those of cert-manager where its Secret is mounted, else our own."""
    if settings.cert_dir.is_dir():
        return settings.cert_dir
    hosts = service_hosts(Key(namespace, settings.webhook_service))
    return OwnAuthority(Key(namespace, settings.webhook_authority), hosts)
