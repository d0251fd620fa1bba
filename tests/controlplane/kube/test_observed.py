"""Applying with caches, which know less than the API server and know it later."""

import asyncio

from slurmery.kube.apply import Act, Applier
from slurmery.kube.client import Client
from slurmery.kube.desired import Desired, Owner
from slurmery.kube.discovery import Discovery
from slurmery.kube.informer import Informer
from slurmery.kube.meta import Key, Resource, Selection
from slurmery.kube.observed import OWNER_INDEX, Cached, Direct, owners
from slurmery.kube.ownership import Footprint
from slurmery.kube.resources import CONFIG_MAPS, ROLES, SECRETS, SERVICES, STATEFUL_SETS

from .conftest import Writes, until
from .objects import acts, cluster, manifest


async def test_an_object_of_another_owner_is_not_touched_even_if_the_cache_has_not_seen_it(
    client: Client, owner: Owner, namespace: str
) -> None:
    theirs = manifest(CONFIG_MAPS, "conf", namespace, data={"a": "theirs"})
    theirs["metadata"]["ownerReferences"] = [
        {"apiVersion": "v1", "kind": "ConfigMap", "name": "other", "uid": "0-1", "controller": True}
    ]
    await client.create(CONFIG_MAPS, theirs)

    class Blind(Direct):
        async def get(self, resource: Resource, key: Key) -> Footprint | None:
            return None

    applier = Applier(client, Blind(client), Discovery(client))
    for data in ({"a": "ours"}, {"a": "theirs"}):
        (outcome,) = await applier.apply(
            owner, [Desired(CONFIG_MAPS, manifest(CONFIG_MAPS, "conf", namespace, data=data))]
        )
        assert outcome.act is Act.BLOCKED
    live = await client.get(CONFIG_MAPS, Key(namespace, "conf"))
    assert live["data"] == {"a": "theirs"}


async def test_with_caches_a_pass_right_after_a_write_and_any_later_one_cost_no_request(
    client: Client, owner: Owner, namespace: str, writes: Writes
) -> None:
    kinds = (CONFIG_MAPS, SECRETS, SERVICES, ROLES, STATEFUL_SETS)
    desired = cluster(namespace)
    informers = [
        Informer(
            client, Selection(kind, namespace, metadata_only=True), Footprint, indexes={OWNER_INDEX: owners}
        )
        for kind in kinds
    ]
    running = [asyncio.create_task(informer.run()) for informer in informers]
    for informer in informers:
        await asyncio.wait_for(informer.synced.wait(), 10)
    applier = Applier(client, Cached(client, informers), Discovery(client))
    assert acts(await applier.apply(owner, desired, prune=kinds)) == [Act.CREATED] * 5
    writes()
    assert acts(await applier.apply(owner, desired, prune=kinds)) == [Act.UNCHANGED] * 5

    async def seen() -> bool:
        return all(one.key in informer.store for one, informer in zip(desired, informers, strict=True))

    await until(seen)
    assert acts(await applier.apply(owner, desired, prune=kinds)) == [Act.UNCHANGED] * 5
    assert writes() == []

    await client.delete(CONFIG_MAPS, Key(namespace, "conf"))

    async def missed() -> bool:
        return Key(namespace, "conf") not in informers[0].store

    await until(missed)
    assert acts(await applier.apply(owner, desired, prune=kinds))[0] is Act.CREATED
    for task in running:
        task.cancel()
