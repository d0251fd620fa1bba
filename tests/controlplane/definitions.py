"""Our kinds, made known to an API server."""

import asyncio
from collections.abc import Iterable

from dev.controlplane import ControlPlane
from slurmery.api.crd import crd
from slurmery.api.resource import CustomResource
from slurmery.kube import config
from slurmery.kube.client import Client
from slurmery.kube.meta import Key
from slurmery.kube.resources import CUSTOM_RESOURCE_DEFINITIONS


async def define(plane: ControlPlane, kinds: Iterable[type[CustomResource]]) -> None:
    """Define the kinds, and wait until they are served."""
    async with Client(config.load(plane.kubeconfig)) as client, asyncio.timeout(60):
        names = []
        for kind in kinds:
            await client.apply(CUSTOM_RESOURCE_DEFINITIONS, crd(kind), manager="tests")
            names.append(f"{kind.place.plural}.{kind.place.group}")
        for name in names:
            # kubectl wait takes a definition without any condition, as it is at first, for an error.
            while not await _established(client, name):  # noqa: ASYNC110
                await asyncio.sleep(0.05)


async def _established(client: Client, name: str) -> bool:
    found = await client.get(CUSTOM_RESOURCE_DEFINITIONS, Key("", name))
    conditions = found.get("status", {}).get("conditions") or ()
    return any((each["type"], each["status"]) == ("Established", "True") for each in conditions)
