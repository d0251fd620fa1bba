"""Our own authority, kept in a Secret, and trusted by the webhook configurations that are ours.

Everything is watched and nothing is remembered: whoever changes the Secret or a configuration, and however
many replicas run, each looks at what there is and puts right what is not. Writes are conditional on what was
seen; of replicas that race one wins, and the others look again.
"""

import asyncio
import base64
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import msgspec

from slurmery.admission import authority
from slurmery.admission.authority import Lives, Pair
from slurmery.admission.identity import Identity
from slurmery.kube.backoff import Backoff
from slurmery.kube.client import Client
from slurmery.kube.errors import ConflictError, KubeError
from slurmery.kube.informer import Informer
from slurmery.kube.logs import logger
from slurmery.kube.meta import Key, Selection, View
from slurmery.kube.resources import MUTATING_WEBHOOKS, SECRETS, VALIDATING_WEBHOOKS

log = logger("admission")

# On a webhook configuration: the Secret, as `namespace.name`, with the authority that it trusts.
AUTHORITY_LABEL: Final = "slurmery/authority"
LONGEST_NAP: Final = timedelta(hours=1)


class _Kept(View, frozen=True):
    data: dict[str, bytes] | None = None


class _ClientConfig(msgspec.Struct, frozen=True, rename="camel"):
    ca_bundle: bytes = b""


class _Webhook(msgspec.Struct, frozen=True, rename="camel"):
    name: str
    client_config: _ClientConfig = _ClientConfig()


class _Configuration(View, frozen=True):
    webhooks: tuple[_Webhook, ...] | None = None


class Rotation:
    """Keeps the authority in the Secret, the identity signed by it, and the configurations trusting it.

    Guarantees: replicas agree on one authority; a handshake with any of them satisfies any bundle that was
    current within `Lives.settle`; when all is well, no request is made.
    """

    def __init__(
        self, client: Client, secret: Key, hosts: Sequence[str], identity: Identity, lives: Lives
    ) -> None:
        self._client = client
        self._secret = secret
        self._hosts = hosts
        self._identity = identity
        self._lives = lives
        self._leaf: Pair | None = None
        self._signer: Pair | None = None
        self._changed = asyncio.Event()
        ours = f"{AUTHORITY_LABEL}={secret.namespace}.{secret.name}"
        only = Selection(SECRETS, secret.namespace, field_selector=f"metadata.name={secret.name}")
        self._kept = Informer(client, only, _Kept)
        self._configurations = [
            Informer(client, Selection(resource, label_selector=ours), _Configuration)
            for resource in (VALIDATING_WEBHOOKS, MUTATING_WEBHOOKS)
        ]

    async def run(self) -> None:
        """Keep everything in order until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            informers: list[Informer[Any]] = [self._kept, *self._configurations]
            for informer in informers:
                informer.subscribe(self._wake)
                tasks.create_task(informer.run())
            await self._kept.synced.wait()
            await self._keep()

    async def _keep(self) -> None:
        backoff = Backoff(0.2, 30.0)
        while True:
            self._changed.clear()
            try:
                nap = await self._tend()
                backoff.reset()
            except ConflictError:
                # Somebody was faster. The watch brings what they wrote, and that wakes us.
                nap = timedelta(seconds=backoff.next())
            except KubeError as error:
                log.warning("Webhook certificates not kept in order", error=str(error))
                nap = timedelta(seconds=backoff.next())
            try:
                async with asyncio.timeout(max(0.0, nap.total_seconds())):
                    await self._changed.wait()
            except TimeoutError:
                continue

    async def _tend(self) -> timedelta:
        """Put right what is not, and say how long it will last."""
        now, lives = datetime.now(UTC), self._lives
        kept = self._kept.store.get(self._secret)
        before = authority.unpack((kept and kept.data) or {})
        authorities = authority.renewed(before, now, lives)
        if authorities != before:
            await self._write(kept, authorities)
        # Only now, as what is not in the Secret would be this replica's alone.
        self._show(authority.signer(authorities, now, lives), now)
        await self._trust(authority.bundle(authorities))
        return self._until_next(authorities, now)

    async def _write(self, kept: _Kept | None, authorities: Sequence[Pair]) -> None:
        data = {name: _base64(text) for name, text in authority.pack(authorities).items()}
        metadata = {"namespace": self._secret.namespace, "name": self._secret.name}
        if kept is None:
            manifest = {
                "apiVersion": "v1",
                "kind": "Secret",
                "type": "Opaque",
                "metadata": metadata,
                "data": data,
            }
            await self._client.create(SECRETS, manifest)
        else:
            version = {"resourceVersion": kept.metadata.resource_version}
            await self._client.patch(SECRETS, self._secret, {"metadata": version, "data": data})
        log.info("Webhook authority written", secret=str(self._secret), authorities=len(authorities))

    async def _trust(self, bundle: bytes) -> None:
        for informer in self._configurations:
            for configuration in informer.store.all():
                distrusting = [
                    webhook.name
                    for webhook in configuration.webhooks or ()
                    if webhook.client_config.ca_bundle != bundle
                ]
                if distrusting:
                    await self._patch(informer, configuration, distrusting, bundle)

    async def _patch(
        self,
        informer: Informer[_Configuration],
        configuration: _Configuration,
        names: list[str],
        bundle: bytes,
    ) -> None:
        trust = {"caBundle": _base64(bundle)}
        patch: dict[str, Any] = {
            "metadata": {"resourceVersion": configuration.metadata.resource_version},
            "webhooks": [{"name": name, "clientConfig": trust} for name in names],
        }
        await self._client.patch(informer.selection.resource, configuration.key, patch, kind="strategic")
        log.info("Webhook configuration trusts our authority", configuration=str(configuration.key))

    def _show(self, signer: Pair, now: datetime) -> None:
        if self._leaf and self._signer == signer and now < self._leaf.due:
            return
        self._leaf, self._signer = authority.leaf(signer, self._hosts, now, self._lives), signer
        self._identity.use(self._leaf.certificate_pem, self._leaf.key_pem)
        log.info("Serving certificate issued", expires=self._leaf.expires.isoformat())

    def _until_next(self, authorities: Sequence[Pair], now: datetime) -> timedelta:
        assert self._leaf
        moments = [self._leaf.due, authorities[-1].due, authorities[0].expires]
        moments += [one.issued + self._lives.settle for one in authorities]
        return min([LONGEST_NAP, *(moment - now for moment in moments if moment > now)])

    def _wake(self, _: View | None, __: View | None) -> None:
        self._changed.set()


def _base64(text: bytes) -> str:
    return base64.b64encode(text).decode()
