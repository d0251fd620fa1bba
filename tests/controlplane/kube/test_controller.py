"""A small operator on a real API server: each CRD-like ConfigMap "parent" wants a ConfigMap "child"."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from slurmery.kube.apply import Applier
from slurmery.kube.client import Client
from slurmery.kube.controller import Controller, Result, TerminalError, controller_of
from slurmery.kube.desired import Desired, Owner
from slurmery.kube.discovery import Discovery
from slurmery.kube.errors import NotFoundError
from slurmery.kube.informer import Informer
from slurmery.kube.meta import Key, Selection
from slurmery.kube.observed import OWNER_INDEX, Cached, owners
from slurmery.kube.ownership import Footprint
from slurmery.kube.resources import CONFIG_MAPS, SECRETS

from .conftest import Writes, until

LABELS = {"app.kubernetes.io/managed-by": "slurmery"}


class Operator:
    """ConfigMaps are parents, Secrets their children; an annotation says what the child holds."""

    def __init__(self, client: Client, namespace: str) -> None:
        self.parents = Informer(client, Selection(CONFIG_MAPS, namespace, metadata_only=True), Footprint)
        self.children = Informer(
            client,
            Selection(SECRETS, namespace, metadata_only=True),
            Footprint,
            indexes={OWNER_INDEX: owners},
        )
        self.applier = Applier(client, Cached(client, [self.children]), Discovery(client))
        self.refused: list[str] = []
        self.reconciled = 0
        self.controller = Controller("parent", self.reconcile, self.report, workers=2)
        self.controller.watch(self.parents)
        self.controller.watch(self.children, controller_of(CONFIG_MAPS))

    async def reconcile(self, key: Key) -> Result:
        self.reconciled += 1
        parent = self.parents.store.get(key)
        if parent is None or "content" not in parent.annotations:
            return Result()
        if parent.annotations["content"] == "bad":
            raise TerminalError("BadContent", "The content is bad")
        metadata = {"name": f"{key.name}-child", "namespace": key.namespace}
        child = {"apiVersion": "v1", "kind": "Secret", "metadata": metadata}
        data = {"content": parent.annotations["content"]}
        owner = Owner(CONFIG_MAPS, key, parent.metadata.uid, LABELS)
        await self.applier.apply(owner, [Desired(SECRETS, {**child, "data": data})], prune=[SECRETS])
        return Result()

    async def report(self, key: Key, error: TerminalError) -> None:
        self.refused.append(f"{key.name}: {error.message}")


@pytest.fixture
async def operator(client: Client, namespace: str) -> AsyncIterator[Operator]:
    operator = Operator(client, namespace)
    work = (operator.parents.run(), operator.children.run(), operator.controller.run())
    tasks = [asyncio.create_task(one) for one in work]
    yield operator
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def parent(namespace: str, name: str, content: str) -> dict[str, Any]:
    metadata = {"name": name, "namespace": namespace, "annotations": {"content": content}}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}


async def child_holds(client: Client, namespace: str, name: str, content: str) -> None:
    async def holds() -> bool:
        try:
            secret = await client.get(SECRETS, Key(namespace, f"{name}-child"))
        except NotFoundError:
            return False
        return bool(secret["data"] == {"content": content})

    await until(holds)


async def test_a_wish_is_fulfilled_followed_and_restored_whatever_happens_to_the_child(
    operator: Operator, client: Client, namespace: str
) -> None:
    await client.create(CONFIG_MAPS, parent(namespace, "a", "Zmlyc3Q="))
    await child_holds(client, namespace, "a", "Zmlyc3Q=")
    await client.patch(
        CONFIG_MAPS, Key(namespace, "a"), {"metadata": {"annotations": {"content": "c2Vjb25k"}}}
    )
    await child_holds(client, namespace, "a", "c2Vjb25k")
    await client.patch(SECRETS, Key(namespace, "a-child"), {"data": {"content": "aGFja2Vk"}})
    await child_holds(client, namespace, "a", "c2Vjb25k")
    await client.delete(SECRETS, Key(namespace, "a-child"))
    await child_holds(client, namespace, "a", "c2Vjb25k")


async def test_a_bad_wish_is_reported_and_does_not_disturb_the_others(
    operator: Operator, client: Client, namespace: str
) -> None:
    await client.create(CONFIG_MAPS, parent(namespace, "bad", "bad"))
    await client.create(CONFIG_MAPS, parent(namespace, "good", "Zmlyc3Q="))
    await child_holds(client, namespace, "good", "Zmlyc3Q=")
    assert operator.refused == ["bad: The content is bad"]


async def test_once_converged_there_is_silence(
    operator: Operator, client: Client, namespace: str, writes: Writes
) -> None:
    for number in range(20):
        await client.create(CONFIG_MAPS, parent(namespace, str(number), "Zmlyc3Q="))
    for number in range(20):
        await child_holds(client, namespace, str(number), "Zmlyc3Q=")
    await asyncio.sleep(0.5)
    written = [write for write in writes() if write[1] == "secrets"]
    assert len(written) == 20
    before = operator.reconciled
    operator.controller.resync()

    async def resynced() -> bool:
        return operator.reconciled >= before + 20

    await until(resynced)
    await asyncio.sleep(0.1)
    assert writes() == []
