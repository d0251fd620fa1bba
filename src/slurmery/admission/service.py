"""The whole webhook, put together: server, certificates and look-ups."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass, field
from pathlib import Path

from slurmery.admission import hooks
from slurmery.admission.authority import Lives
from slurmery.admission.hooks import Hook
from slurmery.admission.identity import Identity, follow
from slurmery.admission.lookups import Lookups
from slurmery.admission.rotation import Rotation
from slurmery.admission.server import application, serve
from slurmery.kube.client import Client
from slurmery.kube.health import Address
from slurmery.kube.meta import Key


@dataclass(frozen=True)
class OwnAuthority:
    """Certificates of our own making, for these hosts, by an authority that is kept in a Secret."""

    secret: Key
    hosts: tuple[str, ...]
    lives: Lives = field(default_factory=Lives)


@dataclass(frozen=True)
class Running:
    """A webhook at work."""

    port: int
    identity: Identity

    def unready(self) -> str | None:
        """Why it cannot answer yet, for /readyz."""
        return None if self.identity.known else "no serving certificate yet"


def service_hosts(service: Key, domain: str = "cluster.local") -> tuple[str, ...]:
    """The names under which the API server and others reach a Service."""
    short = f"{service.name}.{service.namespace}"
    return (f"{short}.svc", f"{short}.svc.{domain}", short)


@contextlib.asynccontextmanager
async def running(
    client: Client,
    address: Address,
    certificates: Path | OwnAuthority,
    which: Iterable[Hook] = hooks.ALL,
) -> AsyncIterator[Running]:
    """Serve until the block ends; `certificates` is the folder with tls.crt and tls.key, or our own."""
    identity = Identity()
    async with (
        serve(address, identity, application(which, Lookups(client).answer)) as port,
        # A group: should the upkeep crash, so does the webhook, and not when its certificate expires.
        asyncio.TaskGroup() as tasks,
    ):
        keeping = tasks.create_task(_upkeep(client, certificates, identity))
        try:
            yield Running(port, identity)
        finally:
            keeping.cancel()


async def _upkeep(client: Client, certificates: Path | OwnAuthority, identity: Identity) -> None:
    if isinstance(certificates, Path):
        await follow(certificates, identity)
    else:
        own = certificates
        await Rotation(client, own.secret, own.hosts, identity, own.lives).run()
