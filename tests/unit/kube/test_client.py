"""Faults on the way to the API server. What a real one can show is in tests/controlplane/kube."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from aiohttp import web

from slurmery.kube.client import Client
from slurmery.kube.config import Config
from slurmery.kube.credentials import Credential
from slurmery.kube.errors import (
    AnswerError,
    ApiError,
    ConflictError,
    NoAnswerError,
    NotServedError,
    ServerError,
    TooManyRequestsError,
    UnauthorizedError,
)
from slurmery.kube.lease import NotLeadingError
from slurmery.kube.meta import Key, Selection, View
from slurmery.kube.resources import PODS
from tests.unit.kube.faults import (
    Answer,
    FaultyServer,
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
POD = Key("ns", "a")


@pytest.fixture
async def server() -> AsyncIterator[FaultyServer]:
    async with faulty_server() as server:
        yield server


@pytest.fixture
async def client(server: FaultyServer) -> AsyncIterator[Client]:
    async with Client(server.config) as client:
        yield client


def now() -> float:
    return asyncio.get_running_loop().time()


async def test_a_throttled_write_waits_as_long_as_it_is_told(server: FaultyServer, client: Client) -> None:
    server.script(refuses(429, "TooManyRequests", {"Retry-After": "7"}), says(thing("a")))
    begin = now()
    await client.apply(PODS, thing("a"))
    assert 7 <= now() - begin < 8


async def test_a_storm_of_429_ends_at_the_deadline_and_not_before(
    server: FaultyServer, client: Client
) -> None:
    server.script(refuses(429, "TooManyRequests", {"Retry-After": "1"}))
    begin = now()
    with pytest.raises(TooManyRequestsError):
        await client.get(PODS, POD)
    assert 25 < now() - begin <= 30
    assert len(server.requests) < 31


async def test_a_wait_beyond_the_deadline_is_not_begun(server: FaultyServer, client: Client) -> None:
    server.script(refuses(429, "TooManyRequests", {"Retry-After": "60"}))
    begin = now()
    with pytest.raises(TooManyRequestsError) as caught:
        await client.apply(PODS, thing("a"))
    assert caught.value.retry_after == 60
    assert now() - begin < 1


async def test_a_refused_eviction_is_not_throttling(server: FaultyServer, client: Client) -> None:
    server.script(refuses(429, "TooManyRequests", causes=[{"reason": "DisruptionBudget", "message": "no"}]))
    with pytest.raises(TooManyRequestsError) as caught:
        await client.request("POST", "/api/v1/namespaces/ns/pods/a/eviction", body={})
    assert caught.value.causes[0].reason == "DisruptionBudget"
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    "fault", [refuses(500, "InternalError"), refuses(503, "ServiceUnavailable"), hangs_up]
)
async def test_a_read_outlives_a_passing_fault(server: FaultyServer, client: Client, fault: Answer) -> None:
    server.script(fault, fault, fault, says(thing("a")))
    assert (await client.get(PODS, POD, as_=View)).key == POD


async def test_a_create_or_apply_is_never_sent_twice(server: FaultyServer, client: Client) -> None:
    server.script(hangs_up)
    with pytest.raises(NoAnswerError, match="PATCH"):
        await client.apply(PODS, thing("a"))
    server.script(refuses(500, "InternalError"))
    with pytest.raises(ServerError):
        await client.create(PODS, thing("a"))
    assert len(server.requests) == 2


async def test_pauses_between_retries_grow(server: FaultyServer, client: Client) -> None:
    server.script(refuses(500, "InternalError"))
    with pytest.raises(ServerError):
        await client.get(PODS, POD)
    assert 8 < len(server.requests) < 20


async def test_a_frozen_server_costs_one_deadline(server: FaultyServer) -> None:
    server.script(freezes)
    async with Client(server.config, deadline=5) as client:
        begin = now()
        with pytest.raises(NoAnswerError, match="no answer within 5 s"):
            await client.get(PODS, POD)
        assert now() - begin == pytest.approx(5, abs=1.1)


async def test_nobody_listens() -> None:
    async with Client(Config("http://127.0.0.1:1"), deadline=2) as client:
        with pytest.raises(NoAnswerError, match=r"GET http://127.0.0.1:1/version.*Connect"):
            await client.request("GET", "/version")


async def test_a_proxys_words_reach_the_user(server: FaultyServer, client: Client) -> None:
    server.script(says("bad gateway of Example Inc.", 502))
    with pytest.raises(ServerError, match="Example Inc"):
        await client.create(PODS, thing("a"))


async def test_an_answer_that_is_no_json_says_so(server: FaultyServer, client: Client) -> None:
    server.script(streams(b"<html>log in first</html>"))
    with pytest.raises(AnswerError, match="cannot be read"):
        await client.get(PODS, POD)
    with pytest.raises(AnswerError, match="not JSON"):
        await client.list(PODS)


async def test_refusals_of_every_code_carry_their_reason(server: FaultyServer, client: Client) -> None:
    server.script(refuses(418, "Teapot"))
    with pytest.raises(ApiError) as caught:
        await client.get(PODS, POD)
    assert (caught.value.status, caught.value.reason, caught.value.message) == (418, "Teapot", "no")
    server.script(refuses(409, "Conflict"))
    with pytest.raises(ConflictError):
        await client.replace(PODS, thing("a"))
    server.script(says("404 page not found", 404))
    with pytest.raises(NotServedError):
        await client.list(PODS)


async def test_an_expired_page_makes_the_list_begin_anew_in_one_piece(
    server: FaultyServer, client: Client
) -> None:
    first = {
        "metadata": {"resourceVersion": "5", "continue": "more"},
        "items": [thing("deleted"), thing("a")],
    }
    server.script(says(first), refuses(410, "Expired"), listing(thing("a"), thing("b"), version="9"))
    found = await client.list(PODS, as_=View)
    assert ([view.key.name for view in found.items], found.resource_version) == (["a", "b"], "9")
    assert [request.query["limit"] for request in server.requests] == ["500", "500", "0"]
    assert server.requests[1].query["continue"] == "more"


async def test_one_bad_object_does_not_hide_the_others(server: FaultyServer, client: Client) -> None:
    server.script(listing(thing("a"), {"metadata": {"name": 7}}, thing("b")))
    with pytest.raises(AnswerError):
        await client.list(PODS, as_=View)
    bad: list[bytes] = []
    found = await client.fetch(Selection(PODS), View, undecodable=lambda raw, _: bad.append(bytes(raw)))
    assert [view.key.name for view in found.items] == ["a", "b"]
    assert bad == [b'{"metadata":{"name":7}}']


async def test_a_null_list_is_an_empty_list(server: FaultyServer, client: Client) -> None:
    server.script(says({"metadata": {"resourceVersion": "1"}, "items": None}))
    assert (await client.list(PODS)).items == []


class Renewable:
    """Credentials of which only the second is good."""

    def __init__(self) -> None:
        self.serial = 1

    async def get(self) -> Credential:
        return Credential(authorization=f"Bearer {self.serial}")

    def reject(self, credential: Credential) -> bool:
        self.serial += 1
        return True


async def test_a_401_renews_the_credentials_once(server: FaultyServer) -> None:
    async with Client(Config(server.config.server, Renewable())) as client:
        server.script(refuses(401, "Unauthorized"), says(thing("a")))
        await client.apply(PODS, thing("a"))
        assert [request.headers["Authorization"] for request in server.requests] == ["Bearer 1", "Bearer 2"]
        server.script(refuses(401, "Unauthorized"))
        with pytest.raises(UnauthorizedError):
            await client.get(PODS, POD)
        assert len(server.requests) == 4


async def test_every_exchange_is_observed(server: FaultyServer) -> None:
    seen: list[tuple[str, str, str]] = []
    async with Client(
        server.config, observe=lambda method, resource, code, _: seen.append((method, resource, code))
    ) as client:
        # aiohttp itself repeats a read once, unseen: a kept connection may just have been closed.
        server.script(hangs_up, hangs_up, says(thing("a")))
        await client.get(PODS, POD)
        await client.request("POST", "/version", body={})
    assert seen == [("GET", "pods", "<error>"), ("GET", "pods", "200"), ("POST", "", "200")]


async def test_calls_beyond_the_limit_wait(server: FaultyServer, client: Client) -> None:
    busy = most = 0

    async def answer(request: web.Request) -> web.StreamResponse:
        nonlocal busy, most
        busy += 1
        most = max(most, busy)
        await asyncio.sleep(1)
        busy -= 1
        return web.json_response(thing("a"))

    server.script(answer)
    await asyncio.gather(*(client.get(PODS, POD) for _ in range(100)))
    assert most == 32


def behind_slow_names(server: FaultyServer, monkeypatch: pytest.MonkeyPatch, seconds: float) -> Config:
    """The server by a name that takes its time to be looked up."""
    loop = asyncio.get_running_loop()
    look_up = loop.getaddrinfo

    async def slowly(*words: Any, **options: Any) -> Any:
        await asyncio.sleep(seconds)
        return await look_up(*words, **options)

    monkeypatch.setattr(loop, "getaddrinfo", slowly)
    return Config(server.config.server.replace("127.0.0.1", "localhost"))


async def test_a_write_whose_connection_came_after_the_end_of_leadership_is_not_sent(
    server: FaultyServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fence() -> None:
        if now() > 3:
            raise NotLeadingError("lost")

    server.script(says(thing("a")))
    async with Client(behind_slow_names(server, monkeypatch, 5), fence=fence) as client:
        with pytest.raises(NotLeadingError):
            await client.apply(PODS, thing("a"))
        assert server.requests == []
        await client.get(PODS, POD)


async def test_a_watch_does_not_wait_for_its_connection_for_ever(
    server: FaultyServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with Client(behind_slow_names(server, monkeypatch, 10_000)) as client:
        with pytest.raises(NoAnswerError):
            await anext(client.watch(Selection(PODS), resource_version="1", seconds=240, silence=255))
    assert now() < 15


async def test_a_client_that_was_not_entered_says_so(server: FaultyServer) -> None:
    with pytest.raises(RuntimeError, match="async with"):
        await Client(server.config).get(PODS, POD)
