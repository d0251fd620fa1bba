"""The client's verbs against a real API server."""

import asyncio

import msgspec
import pytest

from dev.controlplane import ControlPlane
from slurmery.kube import config
from slurmery.kube.client import Client
from slurmery.kube.errors import (
    AlreadyExistsError,
    ConflictError,
    ForbiddenError,
    GoneError,
    InvalidError,
    NotFoundError,
    NotServedError,
)
from slurmery.kube.meta import Key, Resource, Selection, View
from slurmery.kube.resources import (
    CONFIG_MAPS,
    NAMESPACES,
    NODES,
    SECRETS,
    SERVICES,
    STATEFUL_SETS,
    TOKEN_REVIEWS,
)
from slurmery.kube.watch import WatchEvent


def config_map(namespace: str, name: str = "a", **data: str) -> dict[str, object]:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": namespace},
        "data": data,
    }


async def test_an_object_lives_and_dies(client: Client, namespace: str) -> None:
    key = Key(namespace, "a")
    created = await client.create(CONFIG_MAPS, config_map(namespace, x="1"))
    assert (await client.get(CONFIG_MAPS, key)) == created
    assert (await client.get(CONFIG_MAPS, key, as_=View)).key == key
    with pytest.raises(AlreadyExistsError):
        await client.create(CONFIG_MAPS, config_map(namespace))

    replaced = await client.replace(CONFIG_MAPS, created | {"data": {"x": "2"}})
    assert replaced["data"] == {"x": "2"}
    with pytest.raises(ConflictError, match="the object has been modified"):
        await client.replace(CONFIG_MAPS, created | {"data": {"x": "3"}})

    with pytest.raises(ConflictError):
        await client.delete(CONFIG_MAPS, key, uid="another-objects-uid")
    await client.delete(CONFIG_MAPS, key, uid=created["metadata"]["uid"])
    with pytest.raises(NotFoundError) as caught:
        await client.get(CONFIG_MAPS, key)
    assert not isinstance(caught.value, NotServedError)


async def test_patches_of_every_kind(client: Client, namespace: str) -> None:
    key = Key(namespace, "a")
    await client.create(CONFIG_MAPS, config_map(namespace, x="1", y="1"))
    await client.patch(CONFIG_MAPS, key, {"data": {"x": None}})
    await client.patch(CONFIG_MAPS, key, [{"op": "add", "path": "/data/z", "value": "3"}], kind="json")
    found = await client.patch(CONFIG_MAPS, key, {"data": {"y": "2"}}, kind="strategic")
    assert found["data"] == {"y": "2", "z": "3"}


async def test_apply_owns_its_fields_and_leaves_the_others(client: Client, namespace: str) -> None:
    await client.apply(CONFIG_MAPS, config_map(namespace, ours="1", old="1"))
    await client.patch(CONFIG_MAPS, Key(namespace, "a"), {"data": {"theirs": "1"}})
    found = await client.apply(CONFIG_MAPS, config_map(namespace, ours="2"))
    assert found["data"] == {"ours": "2", "theirs": "1"}

    with pytest.raises(ConflictError) as caught:
        await client.apply(CONFIG_MAPS, config_map(namespace, ours="3"), manager="other", force=False)
    assert [(cause.reason, cause.field) for cause in caught.value.causes] == [
        ("FieldManagerConflict", ".data.ours")
    ]
    dry = await client.apply(CONFIG_MAPS, config_map(namespace, ours="4"), dry_run=True)
    assert dry["data"]["ours"] == "4"
    assert (await client.get(CONFIG_MAPS, Key(namespace, "a")))["data"]["ours"] == "2"


def stateful_set(namespace: str) -> dict[str, object]:
    labels = {"app": "a"}
    return {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {"name": "a", "namespace": namespace},
        "spec": {
            "serviceName": "a",
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {"containers": [{"name": "a", "image": "a"}]},
            },
        },
    }


async def test_status_and_scale_are_written_by_themselves(client: Client, namespace: str) -> None:
    key = Key(namespace, "a")
    await client.apply(STATEFUL_SETS, stateful_set(namespace))
    await client.patch(STATEFUL_SETS, key, {"spec": {"replicas": 3}}, subresource="scale")
    scale = await client.get(STATEFUL_SETS, key, subresource="scale")
    assert scale["spec"] == {"replicas": 3}
    status = {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {"name": "a", "namespace": namespace},
    }
    found = await client.apply(STATEFUL_SETS, status | {"status": {"replicas": 2}}, subresource="status")
    assert (found["spec"]["replicas"], found["status"]["replicas"]) == (3, 2)


async def test_a_long_list_comes_in_pages_and_whole(client: Client, namespace: str) -> None:
    names = [f"a-{number:04}" for number in range(1100)]
    await asyncio.gather(*(client.create(CONFIG_MAPS, config_map(namespace, name)) for name in names))
    found = await client.list(CONFIG_MAPS, namespace, as_=View)
    assert [view.key.name for view in found.items] == names
    assert int(found.resource_version) >= max(int(view.metadata.resource_version) for view in found.items)


async def test_selectors_select(client: Client, namespace: str) -> None:
    for name in ("a", "b"):
        manifest = config_map(namespace, name)
        manifest["metadata"] = {"name": name, "namespace": namespace, "labels": {"name": name}}
        await client.create(CONFIG_MAPS, manifest)
    by_label = await client.list(CONFIG_MAPS, namespace, label_selector="name in (b,c)", as_=View)
    by_field = await client.list(CONFIG_MAPS, field_selector=f"metadata.namespace={namespace}", as_=View)
    assert [view.key.name for view in by_label.items] == ["b"]
    assert [view.key.name for view in by_field.items] == ["a", "b"]


class SecretView(View, frozen=True, gc=False):
    data: dict[str, str] | None = None


async def test_metadata_only_means_that_no_secret_leaves_the_server(client: Client, namespace: str) -> None:
    secret = {"metadata": {"name": "s", "namespace": namespace}, "stringData": {"password": "x"}}
    await client.create(SECRETS, secret)
    selection = Selection(SECRETS, namespace, metadata_only=True)
    listing = await client.fetch(selection, SecretView)
    assert [(view.key.name, view.data) for view in listing.items] == [("s", None)]
    assert (await client.fetch(Selection(SECRETS, namespace), SecretView)).items[0].data is not None
    events = [
        bytes(event.object)
        async for event in client.watch(selection, resource_version=None, seconds=1, silence=5)
    ]
    assert b"PartialObjectMetadata" in events[0]
    assert not any(b"password" in event.replace(b"f:password", b"") for event in events)


async def collect(
    client: Client, selection: Selection, version: str | None, *, initial: bool
) -> list[WatchEvent]:
    stream = client.watch(selection, resource_version=version, seconds=1, silence=5, initial_events=initial)
    return [event async for event in stream]


async def test_a_watch_tells_what_happened_since(client: Client, namespace: str) -> None:
    selection = Selection(CONFIG_MAPS, namespace)
    begin = await client.list(CONFIG_MAPS, namespace)
    await client.create(CONFIG_MAPS, config_map(namespace, x="é" * 300_000))
    await client.patch(CONFIG_MAPS, Key(namespace, "a"), {"data": {"x": "2"}})
    await client.delete(CONFIG_MAPS, Key(namespace, "a"))
    events = await collect(client, selection, begin.resource_version, initial=False)
    assert [event.type for event in events[:3]] == ["ADDED", "MODIFIED", "DELETED"]
    assert msgspec.json.decode(events[0].object)["data"]["x"] == "é" * 300_000


async def test_initial_events_end_with_a_bookmark(client: Client, namespace: str) -> None:
    await client.create(CONFIG_MAPS, config_map(namespace))
    events = await collect(client, Selection(CONFIG_MAPS, namespace), None, initial=True)
    assert [event.type for event in events[:2]] == ["ADDED", "BOOKMARK"]
    assert b'"k8s.io/initial-events-end":"true"' in bytes(events[1].object)


async def test_refusals_say_which_and_why(
    client: Client, namespace: str, control_plane: ControlPlane
) -> None:
    with pytest.raises(NotServedError):
        await client.list(Resource("example.com", "v1", "things", "Thing"))
    with pytest.raises(NotFoundError, match=r'namespaces "nowhere" not found'):
        await client.create(CONFIG_MAPS, config_map("nowhere"))
    bad = {"metadata": {"name": "A_", "namespace": namespace}, "spec": {"ports": [{"port": 0}]}}
    with pytest.raises(InvalidError) as caught:
        await client.create(SERVICES, bad)
    assert {cause.field for cause in caught.value.causes} >= {"metadata.name", "spec.ports[0].port"}
    async with Client(config.load(control_plane.user("nobody", "nobody"))) as nobody:
        with pytest.raises(ForbiddenError, match='User "nobody" cannot list resource "nodes"'):
            await nobody.list(NODES)


async def test_raw_paths_and_reviews(client: Client) -> None:
    assert await client.request("GET", "/healthz") == b"ok"
    assert b'"gitVersion"' in await client.request("GET", "/version")
    review = await client.create(TOKEN_REVIEWS, {"spec": {"token": "no token of ours"}})
    assert not review["status"].get("authenticated")


async def test_after_a_restart_of_the_api_server_reads_go_on_and_old_versions_are_gone(
    private_plane: ControlPlane,
) -> None:
    async with Client(config.load(private_plane.kubeconfig)) as client:
        await client.get(NAMESPACES, Key("", "default"))
        private_plane.stop("kube-apiserver")
        reading = asyncio.create_task(client.get(NAMESPACES, Key("", "default"), as_=View))
        await asyncio.to_thread(private_plane.start_apiserver)
        assert (await reading).key == Key("", "default")
        with pytest.raises(GoneError):
            await collect(client, Selection(NAMESPACES), "1", initial=False)
