"""The life and death of whole operator processes."""

import asyncio
import itertools
import sys
import time
from asyncio.subprocess import Process
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

import aiohttp
import pytest

from dev.controlplane import ControlPlane
from slurmery.kube import config
from slurmery.kube.client import Client
from slurmery.kube.meta import Key
from slurmery.kube.resources import CONFIG_MAPS, LEASES

from .conftest import until

PORTS = itertools.count(18081)


@dataclass(frozen=True)
class Replica:
    process: Process
    probes: str

    async def probe(self, path: str) -> int | None:
        try:
            async with (
                aiohttp.ClientSession() as session,
                session.get(f"http://{self.probes}{path}") as answer,
            ):
                return answer.status
        except aiohttp.ClientError:
            return None

    async def ready(self) -> bool:
        return await self.probe("/readyz") == 200

    async def ends(self) -> tuple[int, float]:
        """Exit code and the seconds that it took."""
        begin = time.monotonic()
        return await asyncio.wait_for(self.process.wait(), 30), time.monotonic() - begin


Start = Callable[..., Awaitable[Replica]]


@pytest.fixture
async def start(control_plane: ControlPlane, namespace: str) -> AsyncIterator[Start]:
    replicas: list[Replica] = []

    async def start(identity: str, seconds: float = 0.0, plane: ControlPlane | None = None) -> Replica:
        at, where = (plane, "default") if plane else (control_plane, namespace)
        probes = f"{at.plane.address}:{next(PORTS)}"
        program = str(Path(__file__).with_name("program.py"))
        words = (str(at.kubeconfig), where, identity, probes, str(seconds))
        replica = Replica(await asyncio.create_subprocess_exec(sys.executable, program, *words), probes)
        replicas.append(replica)
        await until(replica.ready)
        return replica

    yield start
    for replica in replicas:
        if replica.process.returncode is None:
            replica.process.kill()
        await replica.process.wait()


async def give(client: Client, namespace: str, *names: str) -> None:
    for name in names:
        metadata = {"name": name, "namespace": namespace, "labels": {"work": "yes"}}
        await client.create(CONFIG_MAPS, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata})


async def done(client: Client, namespace: str) -> dict[str, str]:
    found = (await client.list(CONFIG_MAPS, namespace, label_selector="work")).items
    return {one["metadata"]["name"]: one["metadata"].get("annotations", {}).get("done", "") for one in found}


async def leads(client: Client, namespace: str, identity: str) -> None:
    async def held() -> bool:
        leases = (await client.list(LEASES, namespace)).items
        return [lease["spec"].get("holderIdentity") for lease in leases] == [identity]

    await until(held)


async def test_sigterm_finishes_work_in_flight_releases_the_lease_and_ends_within_five_seconds(
    start: Start, client: Client, namespace: str
) -> None:
    replica = await start("first", seconds=1.0)
    assert await replica.probe("/healthz") == 200
    await leads(client, namespace, "first")
    await give(client, namespace, *(f"job-{number}" for number in range(10)))
    await asyncio.sleep(0.5)
    replica.process.terminate()
    code, seconds = await replica.ends()
    assert code == 0
    assert seconds < 5
    finished = [who for who in (await done(client, namespace)).values() if who]
    assert finished == ["first"] * 4
    await leads(client, namespace, "")


async def test_work_that_does_not_end_is_cut_off_in_time(
    start: Start, client: Client, namespace: str
) -> None:
    replica = await start("first", seconds=1000)
    await leads(client, namespace, "first")
    await give(client, namespace, "endless")
    await asyncio.sleep(0.5)
    replica.process.terminate()
    code, seconds = await replica.ends()
    assert code == 0
    assert seconds < 5


async def test_a_dead_api_server_does_not_delay_the_end(start: Start, private_plane: ControlPlane) -> None:
    replica = await start("first", 1000, private_plane)
    async with Client(config.load(private_plane.kubeconfig)) as client:
        await leads(client, "default", "first")
        await give(client, "default", "endless")
        await asyncio.sleep(0.5)
    private_plane.stop("kube-apiserver")
    replica.process.terminate()
    code, seconds = await replica.ends()
    assert code == 0
    assert seconds < 5


async def test_when_the_leader_is_killed_the_other_replica_finishes_the_work(
    start: Start, client: Client, namespace: str
) -> None:
    first = await start("first", seconds=0.3)
    await leads(client, namespace, "first")
    await start("second")
    await give(client, namespace, *(f"job-{number}" for number in range(20)))

    async def some() -> bool:
        return "first" in (await done(client, namespace)).values()

    await until(some)
    first.process.kill()

    async def everything() -> bool:
        return all((await done(client, namespace)).values())

    await until(everything)
    assert set((await done(client, namespace)).values()) == {"first", "second"}


async def test_a_replica_that_waits_for_the_lease_stops_at_once(
    start: Start, client: Client, namespace: str
) -> None:
    await start("first")
    await leads(client, namespace, "first")
    second = await start("second")
    second.process.terminate()
    code, seconds = await second.ends()
    assert code == 0
    assert seconds < 3
    await leads(client, namespace, "first")


async def test_a_leader_that_loses_the_lease_ends_with_an_error(
    start: Start, client: Client, namespace: str
) -> None:
    replica = await start("first")
    await leads(client, namespace, "first")
    await client.patch(LEASES, Key(namespace, "lease"), {"spec": {"holderIdentity": "thief"}})
    code, _ = await replica.ends()
    assert code != 0
    await leads(client, namespace, "thief")
