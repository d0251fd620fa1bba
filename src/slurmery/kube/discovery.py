"""Which resources the API server offers: optional CRDs may be missing today and there tomorrow."""

import asyncio
from collections.abc import Callable, Iterable

import msgspec

from slurmery.kube.client import Client
from slurmery.kube.errors import KubeError, NotFoundError
from slurmery.kube.logs import logger
from slurmery.kube.meta import Resource

log = logger("discovery")


class _Offer(msgspec.Struct):
    name: str


class _Offers(msgspec.Struct):
    resources: list[_Offer] = []


class Discovery:
    """Remembers what is offered for good, and what is missing for `patience` seconds.

    `run` looks for the missing in the background; when one has come, who waits for it is woken, and those in
    `appeared` are told, to reconcile whoever wanted it.
    """

    def __init__(self, client: Client, *, patience: float = 30.0) -> None:
        self.appeared: list[Callable[[Resource], None]] = []
        self._client = client
        self._patience = patience
        self._offered: set[Resource] = set()
        # When each missing resource was last asked for.
        self._missing: dict[Resource, float] = {}
        self._awaited: dict[Resource, asyncio.Event] = {}
        self._ignored: frozenset[Resource] = frozenset()
        # A thousand objects of a kind ask once.
        self._asking = asyncio.Lock()

    async def offers(self, resource: Resource) -> bool:
        """Whether the server serves the resource now, or did not a moment ago."""
        if resource in self._ignored:
            return False
        if resource not in self._offered:
            async with self._asking:
                if resource not in self._offered and not self._recently_missed(resource):
                    await self._ask(resource)
        return resource in self._offered

    def ignore(self, resources: Iterable[Resource]) -> None:
        """Never look for these: somebody said that they are not there, or not for us."""
        self._ignored |= frozenset(resources)

    async def wait(self, resource: Resource) -> None:
        """Return once the server serves the resource."""
        if not await self.offers(resource):
            await self._awaited.setdefault(resource, asyncio.Event()).wait()

    def withdrawn(self, resource: Resource) -> None:
        """The server has just said that it does not serve the resource."""
        self._offered.discard(resource)
        self._missing[resource] = asyncio.get_running_loop().time()

    async def run(self) -> None:
        """Look for missing resources until cancelled."""
        while True:
            await asyncio.sleep(self._patience)
            for resource in list(self._missing):
                try:
                    await self.offers(resource)
                except KubeError as error:
                    log.warning("Resource not asked for", resource=str(resource), error=str(error))

    def _recently_missed(self, resource: Resource) -> bool:
        missed = self._missing.get(resource)
        return missed is not None and asyncio.get_running_loop().time() - missed < self._patience

    async def _ask(self, resource: Resource) -> None:
        root = "/apis" if resource.group else "/api"
        try:
            answer = await self._client.request("GET", f"{root}/{resource.api_version}")
            names = {offer.name for offer in msgspec.json.decode(answer, type=_Offers).resources}
        except NotFoundError:
            names = set()
        if resource.plural not in names:
            self.withdrawn(resource)
            return
        self._offered.add(resource)
        if self._missing.pop(resource, None) is not None:
            self._announce(resource)

    def _announce(self, resource: Resource) -> None:
        log.info("Resource appeared", resource=str(resource))
        if waiting := self._awaited.pop(resource, None):
            waiting.set()
        for listener in self.appeared:
            listener(resource)
