"""Clusters come, move and go; nothing of a gone one remains."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from slurmery.slurm.clusters import Clusters, Endpoint
from slurmery.slurm.snapshot import Changes, Part
from slurmery.slurm.tokens import StaticToken
from tests.unit.slurm.recordings import recording
from tests.unit.slurm.restd import Restd, answer, http

EVERY = {Part.NODES: 600.0}
NODES = "GET /slurm/v0.0.45/nodes/"


@pytest.fixture
async def clusters() -> AsyncIterator[tuple[Clusters, asyncio.Queue[tuple[str, Changes]]]]:
    heard: asyncio.Queue[tuple[str, Changes]] = asyncio.Queue()
    found = Clusters(lambda key, changes: heard.put_nowait((key, changes)))
    yield found, heard
    await found.close()


async def test_a_followed_cluster_tells_what_it_sees(
    restd: Restd, clusters: tuple[Clusters, asyncio.Queue[tuple[str, Changes]]]
) -> None:
    found, heard = clusters
    restd.on("GET /slurm/v0.0.45/ping/", answer(pings=[]))
    restd.on(NODES, http(200, recording("26.05", "v0.0.45", "nodes")))
    cluster = found.follow("ns/a", Endpoint(restd.url, EVERY), StaticToken("token"))
    assert await heard.get() == ("ns/a", Changes(Part.NODES, added=frozenset({"n0", "n1"})))
    assert set(found.snapshot("ns/a").nodes) == {"n0", "n1"}
    assert found.client("ns/a") is cluster.client

    assert found.follow("ns/a", Endpoint(restd.url, EVERY), StaticToken("token")) is cluster
    assert restd.calls.count(NODES) == 1, "following twice does not ask twice"

    restd.on("GET /slurm/v0.0.45/nodes/?update_time=uts1", answer(nodes=[]))
    found.poke("ns/a", Part.NODES)


async def test_a_cluster_that_moved_is_asked_at_its_new_place(
    restd: Restd, clusters: tuple[Clusters, asyncio.Queue[tuple[str, Changes]]]
) -> None:
    found, heard = clusters
    restd.on(NODES, answer(nodes=[{"name": "n7", "state": ["IDLE"]}]))
    old = found.follow("a", Endpoint("http://127.0.0.1:1", EVERY, "v0.0.45"), StaticToken(""))
    new = found.follow("a", Endpoint(restd.url, EVERY, "v0.0.45"), StaticToken(""))
    await heard.get()
    assert new is not old
    assert old.task.done()
    assert set(found.snapshot("a").nodes) == {"n7"}


async def test_a_dropped_cluster_leaves_nothing_behind(
    restd: Restd, clusters: tuple[Clusters, asyncio.Queue[tuple[str, Changes]]]
) -> None:
    found, heard = clusters
    restd.on(NODES, answer(nodes=[{"name": "n7", "state": ["IDLE", "DRAIN"]}]))
    cluster = found.follow("a", Endpoint(restd.url, EVERY, "v0.0.45"), StaticToken(""))
    await heard.get()
    now = asyncio.get_running_loop().time()
    assert found.snapshot("a").is_drained("n7", now, 60.0)
    found.drop("a")
    found.drop("a")
    await asyncio.wait([cluster.task])
    assert found.client("a") is None
    assert not found.snapshot("a").is_drained("n7", now, 60.0)
    found.poke("a", Part.NODES)
