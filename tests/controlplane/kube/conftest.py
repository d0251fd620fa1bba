"""A client, a namespace of the test's own, and the API server's own account of who wrote what."""

import asyncio
import json
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest

from dev.controlplane import ControlPlane
from slurmery.kube import config
from slurmery.kube.client import Client
from slurmery.kube.desired import Owner
from slurmery.kube.meta import Key
from slurmery.kube.resources import CONFIG_MAPS, NAMESPACES

from .objects import LABELS, manifest

WRITES = {"create", "update", "patch", "delete", "deletecollection"}
Writes = Callable[[], list[tuple[str, str, str]]]


async def until(condition: Callable[[], Awaitable[bool]], seconds: float = 30) -> None:
    """Wait for something that the world brings about in its own time."""
    async with asyncio.timeout(seconds):
        while not await condition():  # noqa: ASYNC110
            await asyncio.sleep(0.02)


@pytest.fixture
async def client(control_plane: ControlPlane) -> AsyncIterator[Client]:
    async with Client(config.load(control_plane.kubeconfig)) as client:
        yield client


@pytest.fixture
async def namespace(client: Client) -> AsyncIterator[str]:
    name = f"test-{uuid.uuid4().hex[:8]}"
    await client.create(NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    yield name
    await client.delete(NAMESPACES, Key("", name))


@pytest.fixture
def writes(control_plane: ControlPlane, namespace: str) -> Writes:
    """The writes to the test's namespace since the last call: verb, resource and name, from the audit log."""
    seen = 0

    def read() -> list[tuple[str, str, str]]:
        nonlocal seen
        lines = control_plane.audit_log.read_text().splitlines()
        fresh, seen = lines[seen:], len(lines)
        events = [json.loads(line) for line in fresh]
        return [
            (event["verb"], event["objectRef"]["resource"], event["objectRef"].get("name", ""))
            for event in events
            if event["verb"] in WRITES and event.get("objectRef", {}).get("namespace") == namespace
        ]

    return read


@pytest.fixture
async def owner(client: Client, namespace: str) -> Owner:
    made = await client.create(CONFIG_MAPS, manifest(CONFIG_MAPS, "owner", namespace))
    return Owner(CONFIG_MAPS, Key(namespace, "owner"), made["metadata"]["uid"], LABELS)
