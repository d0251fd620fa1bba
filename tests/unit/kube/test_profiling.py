"""Profiles over HTTP, of a process that works."""

import asyncio
import marshal
from collections.abc import AsyncIterator

import aiohttp
import pytest

from slurmery.kube import profiling
from slurmery.kube.health import Address, serve


async def distinctive_work() -> None:
    while True:
        sum(range(1000))
        await asyncio.sleep(0)


@pytest.fixture
async def pprof() -> AsyncIterator[str]:
    working = asyncio.create_task(distinctive_work())
    async with serve(Address("127.0.0.1", 0), profiling.routes()) as port:
        yield f"http://127.0.0.1:{port}/debug/pprof"
    working.cancel()


async def get(url: str) -> tuple[int, bytes]:
    async with aiohttp.ClientSession() as session, session.get(url) as answer:
        return answer.status, await answer.read()


async def test_stacks_tell_what_every_task_and_thread_is_at(pprof: str) -> None:
    status, page = await get(f"{pprof}/goroutine")
    assert status == 200
    assert b"distinctive_work" in page
    assert b"MainThread" in page


async def test_a_profile_tells_where_the_time_goes(pprof: str) -> None:
    status, page = await get(f"{pprof}/profile?seconds=0.1&debug=1")
    assert (status, b"distinctive_work" in page) == (200, True)
    status, body = await get(f"{pprof}/profile?seconds=0.1")
    assert any(name == "distinctive_work" for _, _, name in marshal.loads(body))


async def test_no_length_at_all_is_a_mistake(pprof: str) -> None:
    assert (await get(f"{pprof}/profile?seconds=long"))[0] == 400
