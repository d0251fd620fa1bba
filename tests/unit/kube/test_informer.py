"""An informer and a server that breaks. What a real one can show is in tests/controlplane/kube."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
import structlog
from aiohttp import web
from structlog.testing import LogCapture

from slurmery.kube.client import Client
from slurmery.kube.informer import Informer, Pace
from slurmery.kube.meta import Key, Selection, View
from slurmery.kube.resources import PODS
from tests.unit.kube.faults import (
    Answer,
    FaultyServer,
    event,
    failure,
    faulty_server,
    freezes,
    hangs_up,
    listing,
    refuses,
    says,
    streams,
    thing,
)

pytestmark = pytest.mark.looptime
NOT_OFFERED = refuses(422, "Invalid", name="sendInitialEvents")
OPEN = streams(freeze=True)
END = {"metadata": {"resourceVersion": "5", "annotations": {"k8s.io/initial-events-end": "true"}}}


class PodView(View, frozen=True, gc=False):
    """With a field that may not fit."""

    phase: str | None = None


@pytest.fixture
async def server() -> AsyncIterator[FaultyServer]:
    async with faulty_server() as server:
        yield server


class World:
    """An informer at work and all that its handler heard."""

    def __init__(self, informer: Informer[PodView]) -> None:
        self.informer = informer
        self.heard: list[str] = []
        informer.subscribe(self.hear)

    def hear(self, old: PodView | None, new: PodView | None) -> None:
        def word(view: PodView | None) -> str:
            return f"{view.key.name}@{view.metadata.resource_version}" if view else "-"

        self.heard.append(f"{word(old)}>{word(new)}")

    def names(self) -> list[str]:
        return sorted(view.key.name for view in self.informer.store.all())


@asynccontextmanager
async def running(server: FaultyServer, *answers: Answer, pace: Pace | None = None) -> AsyncIterator[World]:
    server.script(*answers)
    async with Client(server.config) as client:
        world = World(Informer(client, Selection(PODS), PodView, pace=pace))
        task = asyncio.create_task(world.informer.run())
        try:
            yield world
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)


async def eventually(true: Callable[[], bool], within: float = 60) -> None:
    async with asyncio.timeout(within):
        while not true():  # noqa: ASYNC110 - any condition, not one event
            await asyncio.sleep(0.05)


def now() -> float:
    return asyncio.get_running_loop().time()


def asked(server: FaultyServer) -> list[str]:
    """What each request was for: list, watch from a version, or watch with the initial objects."""

    def word(request: web.Request) -> str:
        if "watch" not in request.query:
            return "list"
        assert request.query["watch"] == "true"
        assert request.query["allowWatchBookmarks"] == "true"
        return (
            "stream" if "sendInitialEvents" in request.query else f"watch {request.query['resourceVersion']}"
        )

    return [word(request) for request in server.requests]


async def test_initial_objects_come_with_the_watch_where_that_is_offered(server: FaultyServer) -> None:
    first = event("ADDED", thing("a", "1")) + event("ADDED", thing("b", "2"))
    late = event("ADDED", thing("c", "6"))
    answer = streams(first, 1.0, event("BOOKMARK", END), late, freeze=True)
    async with running(server, answer) as world:
        await asyncio.sleep(0.5)
        assert not world.informer.synced.is_set()
        assert world.heard == []
        await world.informer.synced.wait()
        await eventually(lambda: world.names() == ["a", "b", "c"])
    assert asked(server) == ["stream"]
    assert server.requests[0].query["resourceVersionMatch"] == "NotOlderThan"


async def test_a_server_without_initial_events_is_listed(server: FaultyServer) -> None:
    async with running(server, NOT_OFFERED, listing(thing("a"), version="4"), OPEN) as world:
        await world.informer.synced.wait()
        await eventually(lambda: len(server.requests) == 3)
        assert world.names() == ["a"]
    assert asked(server) == ["stream", "list", "watch 4"]


async def test_a_server_that_ignores_the_wish_for_initial_events_is_listed(server: FaultyServer) -> None:
    endless = streams(event("ADDED", thing("a")), freeze=True)
    async with running(server, endless, listing(thing("a")), OPEN) as world:
        await world.informer.synced.wait()
        assert 60 <= now() < 70
        assert world.names() == ["a"]


async def test_a_server_too_slow_for_initial_events_is_listed(server: FaultyServer) -> None:
    async def slow(request: web.Request) -> web.StreamResponse:
        if "watch" not in request.query:
            return await listing(thing("a"))(request)
        return await streams(float(request.query["timeoutSeconds"]))(request)

    async with running(server, slow, pace=Pace(watch=10.0)) as world:
        async with asyncio.timeout(60):
            await world.informer.synced.wait()
        assert world.names() == ["a"]


async def test_a_stream_that_breaks_before_its_objects_have_come_changes_nothing(
    server: FaultyServer,
) -> None:
    half = streams(event("ADDED", thing("a")))
    whole = streams(event("ADDED", thing("b")), event("BOOKMARK", END), freeze=True)
    async with running(server, half, half, whole) as world:
        await world.informer.synced.wait()
        assert world.names() == ["b"]
        assert world.heard == ["->b@1"]


async def test_a_watch_resumes_where_the_last_one_ended(server: FaultyServer) -> None:
    change = event("MODIFIED", thing("a", "7"))
    mark = event("BOOKMARK", {"metadata": {"resourceVersion": "9"}})
    async with running(
        server, NOT_OFFERED, listing(thing("a")), streams(change), streams(mark), OPEN
    ) as world:
        await eventually(lambda: len(server.requests) == 5)
        assert world.heard == ["->a@1", "a@1>a@7"]
    assert asked(server)[2:] == ["watch 1", "watch 7", "watch 9"]


async def test_half_a_line_is_asked_for_again(server: FaultyServer) -> None:
    line = event("ADDED", thing("b", "3"))
    async with running(
        server, NOT_OFFERED, listing(thing("a")), streams(line[:40]), streams(line, freeze=True)
    ) as world:
        await eventually(lambda: world.names() == ["a", "b"])
    assert asked(server)[2:] == ["watch 1", "watch 1"]


@pytest.mark.parametrize(
    "gone",
    [refuses(410, "Expired"), streams(event("ERROR", failure(410, "Expired")))],
    ids=["answer", "event"],
)
async def test_a_version_that_is_gone_means_a_new_list_with_its_deletes(
    server: FaultyServer, gone: Answer
) -> None:
    before = listing(thing("kept"), thing("changed"), thing("deleted"))
    after = listing(thing("kept"), thing("changed", "8"), thing("new", "9"), version="9")
    async with running(server, NOT_OFFERED, before, gone, after, OPEN) as world:
        await eventually(lambda: asked(server)[-1:] == ["watch 9"])
        assert world.names() == ["changed", "kept", "new"]
        assert world.heard[3:] == ["deleted@1>-", "changed@1>changed@8", "->new@9"]


async def test_a_storm_of_410_is_met_with_patience(server: FaultyServer) -> None:
    async def storm(request: web.Request) -> web.StreamResponse:
        calm = listing(thing("a")) if "watch" not in request.query else refuses(410, "Expired")
        return await calm(request)

    async with running(server, NOT_OFFERED, storm) as world:
        await asyncio.sleep(300)
        assert len(server.requests) < 50
        assert world.heard == ["->a@1"]
        assert world.informer.alive(now())


async def test_a_server_that_ends_every_watch_at_once_is_not_hammered(server: FaultyServer) -> None:
    async with running(server, NOT_OFFERED, listing(), streams()):
        await asyncio.sleep(300)
        assert 5 < len(server.requests) < 30


async def test_a_balancer_that_cuts_idle_streams_does_not_slow_us_down(server: FaultyServer) -> None:
    async with running(server, NOT_OFFERED, listing(), streams(60.0)) as world:
        await asyncio.sleep(60 * 20)
        assert len(server.requests) > 20
        assert world.informer.alive(now())


async def test_a_frozen_watch_is_noticed_and_replaced(server: FaultyServer) -> None:
    awake = streams(event("ADDED", thing("b", "2")), freeze=True)
    async with running(server, NOT_OFFERED, listing(thing("a")), OPEN, awake) as world:
        await eventually(lambda: world.names() == ["a", "b"], within=300)
        assert 120 < now() < 260


async def test_watches_end_at_different_times(server: FaultyServer) -> None:
    async with running(server, NOT_OFFERED, listing(), OPEN):
        await asyncio.sleep(3600)
    watches = [request.query for request in server.requests if "resourceVersion" in request.query]
    seconds = [int(query["timeoutSeconds"]) for query in watches]
    assert len(set(seconds)) > 5
    assert all(120 <= value <= 240 for value in seconds)


async def test_life_is_the_servers_word_and_nothing_else(server: FaultyServer) -> None:
    async with running(server, NOT_OFFERED, listing(thing("a")), OPEN, freezes) as world:
        await world.informer.synced.wait()
        assert world.informer.alive(now() + 300)
        assert not world.informer.alive(now() + 320)
        await asyncio.sleep(1000)
        assert not world.informer.alive(now())
        server.script(OPEN)
        await asyncio.sleep(300)
        assert not world.informer.alive(now())
        server.script(streams(event("ADDED", thing("b", "2")), freeze=True))
        await eventually(lambda: world.names() == ["a", "b"], within=600)
        assert world.informer.alive(now())


async def test_an_outage_removes_nothing(server: FaultyServer) -> None:
    async with running(server, NOT_OFFERED, listing(thing("a")), hangs_up) as world:
        await asyncio.sleep(600)
        server.script(refuses(500, "InternalError"))
        await asyncio.sleep(600)
        server.script(says("404 page not found", 404))
        await asyncio.sleep(600)
        assert world.heard == ["->a@1"]


async def test_throttling_is_obeyed(server: FaultyServer) -> None:
    throttled = refuses(429, "TooManyRequests", {"Retry-After": "50"})
    async with running(server, NOT_OFFERED, listing(), throttled, OPEN):
        await eventually(lambda: len(server.requests) == 4, within=100)
        assert 50 <= now() < 55


async def test_a_version_from_the_future_means_a_new_list(server: FaultyServer) -> None:
    future = refuses(504, "Timeout", causes=[{"reason": "ResourceVersionTooLarge", "message": "Too large"}])
    async with running(server, NOT_OFFERED, listing(version="900"), future, listing(version="3"), OPEN):
        await eventually(lambda: asked(server)[-1:] == ["watch 3"])


BAD = thing("bad", "2", phase=7)


@pytest.mark.parametrize("way", ["list", "stream", "watch"])
async def test_an_undecodable_object_is_skipped_and_told(server: FaultyServer, way: str) -> None:
    bad, good = event("ADDED", BAD), event("ADDED", thing("good", "3"))
    answers = {
        "list": (NOT_OFFERED, listing(BAD, thing("good", "3")), OPEN),
        "stream": (streams(bad, good, event("BOOKMARK", END), freeze=True),),
        "watch": (NOT_OFFERED, listing(), streams(bad, good, freeze=True)),
    }
    logs = LogCapture()
    structlog.configure(processors=[logs])
    try:
        async with running(server, *answers[way]) as world:
            await eventually(lambda: world.names() == ["good"])
            assert world.informer.undecodable == 1
    finally:
        structlog.reset_defaults()
    told = [entry for entry in logs.entries if entry["event"] == "undecodable object skipped"]
    assert (told[0]["key"], told[0]["resource"]) == ("ns/bad", "pods")


async def test_an_object_that_became_undecodable_is_not_called_deleted(server: FaultyServer) -> None:
    before = listing(thing("bad", "1", phase="Running"))
    turn = streams(event("MODIFIED", BAD), event("ERROR", failure(410, "Expired")))
    async with running(server, NOT_OFFERED, before, turn, listing(BAD, version="9"), OPEN) as world:
        await eventually(lambda: asked(server)[-1:] == ["watch 9"])
        kept = world.informer.store.get(Key("ns", "bad"))
        assert kept is not None
        assert kept.phase == "Running"


async def test_an_undecodable_object_can_still_be_deleted(server: FaultyServer) -> None:
    before = listing(thing("bad", "1"))
    async with running(server, NOT_OFFERED, before, streams(event("DELETED", BAD), freeze=True)) as world:
        await eventually(lambda: world.heard == ["->bad@1", "bad@1>-"])


async def test_an_event_that_cannot_be_placed_means_a_new_list(server: FaultyServer) -> None:
    lost = streams(event("DELETED", {"metadata": {"name": None}}))
    async with running(server, NOT_OFFERED, listing(thing("a")), lost, listing(version="9"), OPEN) as world:
        await eventually(lambda: asked(server)[-1:] == ["watch 9"])
        assert world.heard == ["->a@1", "a@1>-"]


async def test_a_broken_handler_does_not_blind_the_others(server: FaultyServer) -> None:
    def broken(old: Any, new: Any) -> None:
        raise ValueError("a bug")

    server.script(NOT_OFFERED, listing(thing("a"), thing("b")), OPEN)
    async with Client(server.config) as client:
        informer = Informer(client, Selection(PODS), PodView)
        informer.subscribe(broken)
        world = World(informer)
        task = asyncio.create_task(informer.run())
        await informer.synced.wait()
        assert world.heard == ["->a@1", "->b@1"]
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def test_a_latecomer_hears_of_what_is_there(server: FaultyServer) -> None:
    async with running(server, NOT_OFFERED, listing(thing("a")), OPEN) as world:
        await world.informer.synced.wait()
        late = World(world.informer)
        assert late.heard == ["->a@1"]
