"""A fresh misbehaving slurmrestd for each test, on loopback."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from slurmery.slurm import transport
from tests.unit.slurm.restd import Restd


@pytest.fixture
async def restd() -> AsyncIterator[Restd]:
    fake = Restd()
    server = await asyncio.start_server(fake.serve, "127.0.0.1", 0, limit=1 << 20)
    fake.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    yield fake
    server.close()
    for task in asyncio.all_tasks() - {asyncio.current_task()}:
        task.cancel()


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Repeats at once, where a test is about whether and not about when."""
    monkeypatch.setattr(transport, "_FIRST_PAUSE", 0.001)
    monkeypatch.setattr(transport, "_LONGEST_PAUSE", 0.001)
