"""Look-ups that go wrong."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from slurmery.admission.lookups import Lookups, Seen, Unreadable, Want
from slurmery.kube.client import Client
from slurmery.kube.meta import Key
from slurmery.kube.resources import SECRETS
from tests.unit.kube.faults import FaultyServer, faulty_server, freezes, hangs_up, refuses, says, thing

pytestmark = pytest.mark.looptime
WANT = Want(SECRETS, Key("ns", "a"))


@pytest.fixture
async def server() -> AsyncIterator[FaultyServer]:
    async with faulty_server() as server:
        yield server


@pytest.fixture
async def lookups(server: FaultyServer) -> AsyncIterator[Lookups]:
    async with Client(server.config) as client:
        yield Lookups(client)


async def test_of_a_secret_the_names_of_its_keys_are_known(server: FaultyServer, lookups: Lookups) -> None:
    server.script(says(thing("a", data={"password": "c2VjcmV0"}, spec=None)))
    found = (await lookups.answer([WANT, WANT]))[WANT]

    assert isinstance(found, Seen)
    assert found.keys == ["password"]
    assert len(server.requests) == 1, "what is wanted twice is read once"


async def test_absence_is_told_from_ignorance(server: FaultyServer, lookups: Lookups) -> None:
    server.script(refuses(404, "NotFound", name="a"))
    assert await lookups.answer([WANT]) == {WANT: None}
    server.script(refuses(403, "Forbidden"))
    assert await lookups.answer([WANT]) == {WANT: Unreadable("403 Forbidden: no")}
    server.script(says({"metadata": []}))
    assert isinstance((await lookups.answer([WANT]))[WANT], Unreadable)


@pytest.mark.parametrize("fault", [freezes, hangs_up, refuses(503, "ServiceUnavailable")])
async def test_an_answer_comes_in_time(server: FaultyServer, lookups: Lookups, fault: object) -> None:
    server.script(fault)  # type: ignore[arg-type]
    begin = asyncio.get_running_loop().time()

    assert isinstance((await lookups.answer([WANT]))[WANT], Unreadable)
    assert asyncio.get_running_loop().time() - begin <= 2.1


@pytest.mark.parametrize("name", ["..", ".", "a/b", "A", "-a", "a?b", "ü"])
async def test_a_name_that_none_can_have_is_not_asked_for(
    server: FaultyServer, lookups: Lookups, name: str
) -> None:
    server.script(says(thing("a")))
    want = Want(SECRETS, Key("ns", name))

    assert await lookups.answer([want]) == {want: None}
    assert server.requests == []
