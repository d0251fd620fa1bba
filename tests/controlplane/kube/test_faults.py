"""A whole operator through everything that breaks around it: nothing is lost, nothing is done twice.

The operator is the copier: every wish gets a copy. In the end each wish that was ever written must be in its
cache as it is in the cluster, and have its copy; who wrote what is read from the API server's audit log.
"""

import asyncio
import itertools
import json
import signal
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import structlog

from dev import components
from dev.controlplane import ControlPlane
from slurmery.kube import config
from slurmery.kube.client import Client
from slurmery.kube.config import Config
from slurmery.kube.errors import NotFoundError
from slurmery.kube.informer import Informer, Pace
from slurmery.kube.meta import Key, Selection
from slurmery.kube.resources import LEASES, SECRETS

from .conftest import until
from .copier import Copier
from .relay import Relay
from .throttle import administrator, existing, storm_of_429
from .wishes import PATIENCE, Wishes, names

QUICK = Pace(watch=4.0, grace=1.0, pause=0.05, longest_pause=1.0)
STEADY = Pace(pause=0.05, longest_pause=1.0)
PORTS = itertools.count(18181)


@pytest.fixture
def wishes(client: Client, namespace: str) -> Wishes:
    return Wishes(client, namespace)


@asynccontextmanager
async def copying(to: Config, namespace: str, pace: Pace = QUICK) -> AsyncIterator[Copier]:
    """The operator at work, in this process."""
    async with Client(to, user_agent="copier", deadline=5) as client:

        def watch(selection: Selection, view: Any, indexes: Any) -> Any:
            return Informer(client, selection, view, indexes=indexes, pace=pace)

        copier = Copier(client, namespace, watch)
        work = (copier.wishes.run(), copier.copies.run(), copier.controller.run())
        tasks = [asyncio.create_task(one) for one in work]
        try:
            async with asyncio.timeout(PATIENCE):
                await copier.wishes.synced.wait()
                await copier.copies.synced.wait()
            yield copier
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)


@pytest.fixture
async def relay(control_plane: ControlPlane) -> AsyncIterator[Relay]:
    async with Relay(config.load(control_plane.kubeconfig)).listening() as relay:
        yield relay


async def test_an_api_server_killed_and_restarted_in_mid_burst_costs_nothing(
    private_plane: ControlPlane,
) -> None:
    loaded = config.load(private_plane.kubeconfig)
    async with Client(loaded, deadline=5) as client, copying(loaded, "default") as copier:
        wishes = Wishes(client, "default")
        async with wishes.burst() as made:
            for _ in range(2):
                before = len(copier.copies.store)

                async def flowing(before: int = before) -> bool:
                    return len(copier.copies.store) > before + 10

                await until(flowing, PATIENCE)
                private_plane.stop("kube-apiserver")
                await asyncio.to_thread(private_plane.start_apiserver)
        await wishes.come_true(made)
        await wishes.known_to(copier)


async def test_a_watch_that_a_proxy_freezes_without_closing_it_is_replaced(
    relay: Relay, wishes: Wishes
) -> None:
    async with copying(relay.config, wishes.namespace) as copier:
        relay.freeze()
        await wishes.make(*names("unseen", 10))
        await wishes.come_true(names("unseen", 10))
        await wishes.known_to(copier)
    assert relay.swallowed


@pytest.fixture
def uncached_plane(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> Iterator[ControlPlane]:
    """An API server that watches etcd directly: what etcd has compacted is gone."""
    usual = components.apiserver

    def apiserver(*words: Any) -> components.Command:
        return [*usual(*words), "--watch-cache=false"]

    monkeypatch.setattr(components, "apiserver", apiserver)
    with ControlPlane(tmp_path_factory.mktemp("uncached")) as plane:
        yield plane


async def compact(etcd: str) -> None:
    """Make etcd forget everything but the present."""
    async with aiohttp.ClientSession(etcd, raise_for_status=True) as session:
        async with session.post("/v3/kv/range", json={"key": "AA=="}) as answer:
            revision = (await answer.json())["header"]["revision"]
        async with session.post("/v3/kv/compaction", json={"revision": revision, "physical": True}) as answer:
            await answer.read()


async def test_in_a_storm_of_410_each_list_takes_up_the_thread(uncached_plane: ControlPlane) -> None:
    direct = config.load(uncached_plane.kubeconfig)
    rounds = 6
    with structlog.testing.capture_logs() as said:
        async with (
            Client(direct) as client,
            Relay(direct).listening() as relay,
            copying(relay.config, "default") as copier,
        ):
            wishes = Wishes(client, "default")
            for number in range(rounds):
                with relay.outage():
                    await wishes.make(*names(f"round-{number}", 5))
                    await compact(uncached_plane.plane.etcd)
                await wishes.known_to(copier)
            await wishes.come_true(set().union(*(names(f"round-{number}", 5) for number in range(rounds))))
    gone = [line for line in said if line["event"] == "watch failed, trying again" and "410" in line["error"]]
    assert len(gone) >= rounds


async def test_in_a_storm_of_429_work_waits_and_then_is_done(
    control_plane: ControlPlane, client: Client, wishes: Wishes
) -> None:
    user = f"copier-{wishes.namespace}"
    direct = config.load(control_plane.user(user, user))

    def refused(verb: str) -> int:
        return sum(
            entry["verb"] == verb and entry["responseStatus"]["code"] == 429
            for entry in audit(control_plane)
            if entry["user"]["username"] == user and entry["userAgent"] == "copier"
        )

    async def writes_refused() -> bool:
        return refused("patch") > 10

    async def watches_refused() -> bool:
        return refused("watch") > 2

    async with (
        existing(client, user, administrator(user)),
        Relay(direct).listening() as relay,
        copying(relay.config, wishes.namespace, STEADY) as copier,
    ):
        async with storm_of_429(client, direct, user, wishes.namespace):
            await wishes.make(*names("early", 20))
            await until(writes_refused, PATIENCE)
            with relay.outage():
                await wishes.make(*names("late", 20))
            await until(watches_refused, PATIENCE)
        await wishes.come_true(names("early", 20) | names("late", 20))
        await wishes.known_to(copier)


@dataclass(frozen=True)
class Replica:
    """The operator as a process."""

    identity: str
    process: Process
    probes: str

    async def ready(self) -> bool:
        try:
            async with (
                aiohttp.ClientSession() as session,
                session.get(f"http://{self.probes}/readyz") as answer,
            ):
                return answer.status == 200
        except aiohttp.ClientError:
            return False

    async def says(self) -> str:
        assert self.process.stdout
        return (await asyncio.wait_for(self.process.stdout.readline(), PATIENCE)).decode().strip()


Start = Callable[[str], Awaitable[Replica]]


@pytest.fixture
async def start(control_plane: ControlPlane, namespace: str) -> AsyncIterator[Start]:
    replicas: list[Replica] = []

    async def start(identity: str) -> Replica:
        probes = f"{control_plane.plane.address}:{next(PORTS)}"
        program = str(Path(__file__).with_name("copier.py"))
        words = (program, str(control_plane.kubeconfig), namespace, identity, probes)
        process = await asyncio.create_subprocess_exec(sys.executable, *words, stdout=PIPE)
        replicas.append(Replica(identity, process, probes))
        await until(replicas[-1].ready, PATIENCE)
        return replicas[-1]

    yield start
    for replica in replicas:
        if replica.process.returncode is None:
            replica.process.kill()
        await replica.process.communicate()


def audit(plane: ControlPlane) -> list[dict[str, Any]]:
    """All finished requests in the order in which the API server got them."""
    entries = [json.loads(line) for line in plane.audit_log.read_text().splitlines()]
    finished = [entry for entry in entries if entry["stage"] == "ResponseComplete"]
    return sorted(finished, key=lambda entry: datetime.fromisoformat(entry["requestReceivedTimestamp"]))


def writes(plane: ControlPlane, namespace: str) -> list[tuple[str, str]]:
    """Who wrote which copy, in order."""
    return [
        (entry["userAgent"], entry["objectRef"]["name"])
        for entry in audit(plane)
        if entry["verb"] not in {"get", "list", "watch"}
        and entry["objectRef"]["resource"] == SECRETS.plural
        and entry["objectRef"]["namespace"] == namespace
    ]


async def leads(client: Client, namespace: str, identity: str) -> int:
    """Wait until this one leads; returns how often the lease has changed hands."""
    spec: dict[str, Any] = {}

    async def held() -> bool:
        try:
            spec.update((await client.get(LEASES, Key(namespace, "lease")))["spec"])
        except NotFoundError:
            return False
        return bool(spec.get("holderIdentity") == identity)

    await until(held, PATIENCE)
    return int(spec.get("leaseTransitions", 0))


async def test_a_leader_whose_event_loop_is_blocked_keeps_the_lease_and_its_work(
    control_plane: ControlPlane, start: Start, wishes: Wishes
) -> None:
    first = await start("first")
    await leads(wishes.client, wishes.namespace, "first")
    await start("second")
    first.process.send_signal(signal.SIGUSR1)
    assert await first.says() == "blocked"
    await wishes.make(*names("meanwhile", 20))
    assert await first.says() == "awake"
    await wishes.come_true(names("meanwhile", 20))
    assert await leads(wishes.client, wishes.namespace, "first") == 0
    done = writes(control_plane, wishes.namespace)
    assert sorted(done) == sorted(("first", name) for name in names("meanwhile", 20))


async def test_of_two_replicas_of_which_one_is_paused_past_expiry_and_woken_one_writes(
    control_plane: ControlPlane, start: Start, wishes: Wishes
) -> None:
    leader = await start("replica-0")
    await leads(wishes.client, wishes.namespace, leader.identity)
    async with wishes.burst() as made:
        for term in (1, 2):
            successor = await start(f"replica-{term}")
            await wrote(control_plane, wishes.namespace, leader)
            leader.process.send_signal(signal.SIGUSR2)
            await wrote(control_plane, wishes.namespace, successor)
            leader.process.send_signal(signal.SIGCONT)
            assert await asyncio.wait_for(leader.process.wait(), PATIENCE) == 1
            leader = successor
    await wishes.come_true(made)
    writers = [who for who, _ in itertools.groupby(writes(control_plane, wishes.namespace), lambda w: w[0])]
    assert writers == ["replica-0", "replica-1", "replica-2"]


async def wrote(plane: ControlPlane, namespace: str, replica: Replica) -> None:
    """Wait until the replica has written some copies."""

    async def some() -> bool:
        return sum(who == replica.identity for who, _ in writes(plane, namespace)) > 10

    await until(some, PATIENCE)
