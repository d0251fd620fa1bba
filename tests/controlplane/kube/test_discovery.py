"""Optional kinds, on a real API server."""

import asyncio

from slurmery.kube.apply import Act, Applier
from slurmery.kube.client import Client
from slurmery.kube.desired import Desired, Owner
from slurmery.kube.discovery import Discovery
from slurmery.kube.meta import Key, Manifest, Resource
from slurmery.kube.observed import Direct
from slurmery.kube.resources import CONFIG_MAPS, CUSTOM_RESOURCE_DEFINITIONS

from .conftest import Writes, until
from .objects import acts, manifest


def monitors(group: str) -> tuple[Resource, Manifest]:
    resource = Resource(group, "v1", "servicemonitors", "ServiceMonitor")
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    definition = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"servicemonitors.{group}"},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"plural": "servicemonitors", "kind": "ServiceMonitor", "singular": "servicemonitor"},
            "versions": [
                {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
            ],
        },
    }
    return resource, definition


async def test_an_optional_kind_is_skipped_until_its_crd_appears_and_again_when_it_goes(
    client: Client, owner: Owner, namespace: str, writes: Writes
) -> None:
    resource, definition = monitors(f"{namespace}.example.com")
    body = {"spec": {"endpoints": [{"port": "metrics"}], "selector": {"matchLabels": {"a": "b"}}}}
    desired = [
        Desired(resource, manifest(resource, "slurm", namespace, **body)),
        Desired(CONFIG_MAPS, manifest(CONFIG_MAPS, "conf", namespace)),
    ]
    discovery = Discovery(client, patience=0.05)
    appeared = asyncio.Event()
    discovery.appeared.append(lambda _: appeared.set())
    applier = Applier(client, Direct(client), discovery)
    assert acts(await applier.apply(owner, desired, prune=[resource])) == [Act.NOT_OFFERED, Act.CREATED]

    looking = asyncio.create_task(discovery.run())
    await client.create(CUSTOM_RESOURCE_DEFINITIONS, definition)
    await asyncio.wait_for(appeared.wait(), 30)
    assert acts(await applier.apply(owner, desired)) == [Act.CREATED, Act.UNCHANGED]
    writes()
    assert acts(await applier.apply(owner, desired)) == [Act.UNCHANGED, Act.UNCHANGED]
    assert writes() == []

    await client.delete(CUSTOM_RESOURCE_DEFINITIONS, Key("", definition["metadata"]["name"]))

    async def withdrawn() -> bool:
        return acts(await applier.apply(owner, desired, prune=[resource]))[0] is Act.NOT_OFFERED

    await until(withdrawn)
    looking.cancel()


async def test_what_is_said_to_be_missing_is_not_looked_for(client: Client) -> None:
    discovery = Discovery(client)
    discovery.ignore([CONFIG_MAPS])
    assert not await discovery.offers(CONFIG_MAPS)
    assert await discovery.offers(CUSTOM_RESOURCE_DEFINITIONS)
