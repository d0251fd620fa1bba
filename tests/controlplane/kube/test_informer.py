"""Informers on a real API server, through its failures too."""

import asyncio
import dataclasses
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any
from uuid import uuid4

from dev.controlplane import ControlPlane
from slurmery.kube import config
from slurmery.kube.client import Client
from slurmery.kube.errors import KubeError, NotFoundError
from slurmery.kube.informer import Informer, Pace
from slurmery.kube.meta import Key, Resource, Selection, View
from slurmery.kube.resources import CONFIG_MAPS, CUSTOM_RESOURCE_DEFINITIONS, SECRETS
from slurmery.kube.store import V

QUICK = Pace(watch=4.0, grace=1.0, pause=0.05, longest_pause=0.5)


class ConfigMapView(View, frozen=True, gc=False):
    data: dict[str, str] | None = None


def labels(view: View) -> list[str]:
    return [f"{key}={value}" for key, value in view.labels.items()]


def config_map(namespace: str, name: str, **labels: str) -> dict[str, Any]:
    return {"metadata": {"name": name, "namespace": namespace, "labels": labels}, "data": {"x": "1"}}


@asynccontextmanager
async def running(informer: Informer[V]) -> AsyncIterator[Informer[V]]:
    task = asyncio.create_task(informer.run())
    try:
        async with asyncio.timeout(30):
            await informer.synced.wait()
        yield informer
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def eventually(true: Callable[[], bool]) -> None:
    async with asyncio.timeout(60):
        while not true():  # noqa: ASYNC110 - any condition, not one event
            await asyncio.sleep(0.02)


async def test_the_store_follows_the_world(client: Client, namespace: str) -> None:
    await client.create(CONFIG_MAPS, config_map(namespace, "before", app="a"))
    selection = Selection(CONFIG_MAPS, namespace)
    heard: list[tuple[str | None, str | None]] = []

    def hear(old: View | None, new: View | None) -> None:
        heard.append((old.key.name if old else None, new.key.name if new else None))

    informer = Informer(client, selection, ConfigMapView, indexes={"label": labels})
    informer.subscribe(hear)
    async with running(informer):
        assert [view.key.name for view in informer.store.all()] == ["before"]
        await client.create(CONFIG_MAPS, config_map(namespace, "after", app="a"))
        await client.patch(CONFIG_MAPS, Key(namespace, "before"), {"metadata": {"labels": {"app": "b"}}})
        await client.delete(CONFIG_MAPS, Key(namespace, "after"))
        await eventually(lambda: heard[-1:] == [("after", None)])
        assert heard == [(None, "before"), (None, "after"), ("before", "before"), ("after", None)]
        assert [view.data for view in informer.store.by("label", "app=b")] == [{"x": "1"}]
        assert informer.store.by("label", "app=a") == []


async def test_leaving_the_selection_is_being_deleted(client: Client, namespace: str) -> None:
    await client.create(CONFIG_MAPS, config_map(namespace, "a", app="ours"))
    await client.create(CONFIG_MAPS, config_map(namespace, "b", app="theirs"))
    selection = Selection(CONFIG_MAPS, namespace, label_selector="app=ours")
    async with running(Informer(client, selection, View)) as informer:
        assert informer.store.keys() == {Key(namespace, "a")}
        await client.patch(CONFIG_MAPS, Key(namespace, "a"), {"metadata": {"labels": {"app": "theirs"}}})
        await eventually(lambda: not len(informer.store))


async def test_metadata_of_secrets_will_do(client: Client, namespace: str) -> None:
    await client.create(SECRETS, config_map(namespace, "s", app="a") | {"data": {"password": "eA=="}})
    selection = Selection(SECRETS, namespace, metadata_only=True)
    async with running(Informer(client, selection, ConfigMapView)) as informer:
        assert [(view.labels["app"], view.data) for view in informer.store.all()] == [("a", None)]
        await client.patch(SECRETS, Key(namespace, "s"), {"metadata": {"labels": {"app": "b"}}})
        await eventually(lambda: informer.store.all()[0].labels["app"] == "b")
        assert informer.store.all()[0].data is None


async def test_a_kind_that_appears_later_is_picked_up(client: Client) -> None:
    plural = f"things{uuid4().hex[:6]}"
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    definition = {
        "metadata": {"name": f"{plural}.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": plural, "kind": "Thing"},
            "versions": [version],
        },
    }
    things = Resource("example.com", "v1", plural, "Thing")
    informer = Informer(client, Selection(things), View, pace=QUICK)
    task = asyncio.create_task(informer.run())
    await asyncio.sleep(0.5)
    assert not informer.synced.is_set()
    await client.create(CUSTOM_RESOURCE_DEFINITIONS, definition)
    await eventually(informer.synced.is_set)
    thing = {
        "apiVersion": "example.com/v1",
        "kind": "Thing",
        "metadata": {"name": "a", "namespace": "default"},
    }
    await client.create(things, thing)
    await eventually(lambda: len(informer.store) == 1)
    await client.delete(CUSTOM_RESOURCE_DEFINITIONS, Key("", f"{plural}.example.com"))
    await eventually(lambda: not len(informer.store))
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def test_the_first_objects_come_by_stream_and_the_watch_resumes(
    client: Client, namespace: str, control_plane: ControlPlane
) -> None:
    selection = Selection(CONFIG_MAPS, namespace)
    async with running(Informer(client, selection, View, pace=QUICK)):
        await asyncio.sleep(5)
    audit = [json.loads(line) for line in control_plane.audit_log.read_text().splitlines()]
    asked = [entry["requestURI"] for entry in audit if entry["stage"] == "ResponseStarted"]
    first, *others = [uri for uri in asked if f"/namespaces/{namespace}/configmaps?" in uri]
    assert "sendInitialEvents=true" in first
    assert others
    assert all("resourceVersion=" in uri and "watch=true" in uri for uri in others)


async def insist(step: Callable[[], Awaitable[object]], until: type[KubeError] | None = None) -> None:
    """Repeat a step, whatever happens to the server, until it succeeds or fails as it should."""
    async with asyncio.timeout(120):
        while True:
            try:
                await step()
                if until is None:
                    return
            except KubeError as error:
                if until is not None and isinstance(error, until):
                    return
            await asyncio.sleep(0.1)


async def live(client: Client, number: int) -> None:
    """The life of one object: made, changed, and every third deleted."""
    key = Key("default", f"a-{number}")
    manifest = {"apiVersion": "v1", "kind": "ConfigMap", **config_map(*key)}
    await insist(lambda: client.apply(CONFIG_MAPS, manifest))
    await insist(lambda: client.apply(CONFIG_MAPS, manifest | {"data": {"x": "2"}}))
    if number % 3 == 0:
        await insist(lambda: client.delete(CONFIG_MAPS, key), until=NotFoundError)


async def test_an_api_server_killed_in_mid_burst_costs_no_event(private_plane: ControlPlane) -> None:
    heard: dict[Key, ConfigMapView] = {}

    def hear(old: ConfigMapView | None, new: ConfigMapView | None) -> None:
        if new is not None:
            heard[new.key] = new
        elif old is not None:
            del heard[old.key]

    async with Client(config.load(private_plane.kubeconfig)) as client:
        informer = Informer(client, Selection(CONFIG_MAPS, "default"), ConfigMapView, pace=QUICK)
        informer.subscribe(hear)
        async with running(informer):
            burst = asyncio.gather(*(live(client, number) for number in range(200)))
            await eventually(lambda: len(heard) > 20)
            for _ in range(2):
                private_plane.stop("kube-apiserver")
                await asyncio.to_thread(private_plane.start_apiserver)
                await asyncio.sleep(0.2)
            await burst
            truth = await client.list(CONFIG_MAPS, "default", as_=ConfigMapView)
            versions = {view.key: view.metadata.resource_version for view in truth.items}
            await eventually(
                lambda: versions == {key: view.metadata.resource_version for key, view in heard.items()}
            )
            assert heard == {view.key: view for view in informer.store.all()}


class FreezingProxy:
    """A TCP proxy that can stop passing bytes on without closing anything."""

    def __init__(self, host: str, port: int) -> None:
        self._target = host, port
        self.frozen = False
        self._tasks: set[asyncio.Task[None]] = set()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        far_reader, far_writer = await asyncio.open_connection(*self._target)
        for source, sink in ((reader, far_writer), (far_reader, writer)):
            task = asyncio.create_task(self._pass_on(source, sink))
            self._tasks.add(task)

    async def _pass_on(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        doomed = False
        try:
            while data := await source.read(65_536):
                # A connection caught by the freeze stays frozen, as behind a balancer that lost its state.
                doomed = doomed or self.frozen
                if not doomed:
                    sink.write(data)
        except OSError:
            pass
        finally:
            sink.close()

    async def stop(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


async def test_a_watch_frozen_by_a_proxy_is_replaced(
    client: Client, namespace: str, control_plane: ControlPlane
) -> None:
    direct = config.load(control_plane.kubeconfig)
    host, port = control_plane.server.removeprefix("https://").split(":")
    proxy = FreezingProxy(host, int(port))
    listener = await asyncio.start_server(proxy.serve, "127.0.0.1", 0)
    address = f"https://127.0.0.1:{listener.sockets[0].getsockname()[1]}"
    behind = dataclasses.replace(direct, server=address, tls_server_name="localhost")
    async with Client(behind, deadline=2) as through:
        informer = Informer(through, Selection(CONFIG_MAPS, namespace), View, pace=QUICK)
        async with running(informer):
            proxy.frozen = True
            await client.create(CONFIG_MAPS, config_map(namespace, "a"))
            await asyncio.sleep(1)
            assert not len(informer.store)
            proxy.frozen = False
            await eventually(lambda: len(informer.store) == 1)
    listener.close()
    await proxy.stop()
    await listener.wait_closed()
