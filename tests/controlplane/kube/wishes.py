"""The user of the copier, who writes wishes and insists on each, and can tell whether all have come true."""

import asyncio
import base64
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from slurmery.kube.client import Client
from slurmery.kube.errors import KubeError
from slurmery.kube.meta import View
from slurmery.kube.resources import CONFIG_MAPS, SECRETS

from .conftest import until
from .copier import Copier

PATIENCE = 120.0


class Content(View, frozen=True, gc=False):
    data: dict[str, str]


@dataclass(frozen=True)
class Wishes:
    """All wishes of one namespace."""

    client: Client
    namespace: str

    async def make(self, *names: str) -> None:
        """Write these wishes, whatever happens to the server meanwhile."""
        await asyncio.gather(*(self._insist(name, "first") for name in names))

    @asynccontextmanager
    async def burst(self) -> AsyncIterator[set[str]]:
        """Write new wishes, and change each of them, for as long as the `with` lasts; yields their names."""
        made: set[str] = set()
        over = asyncio.Event()

        async def write() -> None:
            while not over.is_set():
                name = f"burst-{len(made)}"
                made.add(name)
                await self._insist(name, "first")
                await self._insist(name, "second")

        async with asyncio.TaskGroup() as writers:
            for _ in range(4):
                writers.create_task(write())
            yield made
            over.set()

    async def _insist(self, name: str, content: str) -> None:
        metadata = {
            "name": name,
            "namespace": self.namespace,
            "labels": {"wish": "yes"},
            "annotations": {"content": base64.b64encode(content.encode()).decode()},
        }
        async with asyncio.timeout(PATIENCE):
            while True:
                try:
                    await self.client.apply(
                        CONFIG_MAPS, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}
                    )
                except KubeError:
                    await asyncio.sleep(0.1)
                else:
                    return

    async def copied(self) -> dict[str, str]:
        copies = await self.client.list(SECRETS, self.namespace, as_=Content)
        return {one.key.name: one.data["content"] for one in copies.items}

    async def wished(self) -> dict[str, View]:
        wishes = await self.client.list(CONFIG_MAPS, self.namespace, label_selector="wish", as_=View)
        return {one.key.name: one for one in wishes.items}

    async def come_true(self, names: set[str]) -> None:
        """Wait until each of these wishes, and no other, has its copy."""
        wished = {name: wish.annotations["content"] for name, wish in (await self.wished()).items()}
        assert wished.keys() == names

        async def all_copied() -> bool:
            return await self.copied() == wished

        await until(all_copied, PATIENCE)

    async def known_to(self, copier: Copier) -> None:
        """Wait until the cache is as the cluster."""
        wished = {name: wish.metadata.resource_version for name, wish in (await self.wished()).items()}

        async def all_known() -> bool:
            return wished == {
                one.key.name: one.metadata.resource_version for one in copier.wishes.store.all()
            }

        await until(all_known, PATIENCE)


def names(prefix: str, count: int) -> set[str]:
    return {f"{prefix}-{number}" for number in range(count)}
