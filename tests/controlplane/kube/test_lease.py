"""Elections on a real API server, between threads and between processes."""

import asyncio
import signal
import sys
import threading
import time
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import msgspec
import pytest

from dev.controlplane import ControlPlane
from slurmery.kube import config
from slurmery.kube.client import Client
from slurmery.kube.errors import ConflictError
from slurmery.kube.lease import Election, NotLeadingError, Timing
from slurmery.kube.meta import Key, Selection, View
from slurmery.kube.resources import CONFIG_MAPS, LEASES
from slurmery.kube.watch import BOOKMARK, WatchEvent

from .conftest import until

FAST = Timing(duration=2.0, renew=1.2, retry=0.2)


class Candidate:
    """An election and what it said."""

    def __init__(
        self, control_plane: ControlPlane, namespace: str, identity: str, timing: Timing = FAST
    ) -> None:
        loaded = config.load(control_plane.kubeconfig)
        self.led, self.over = threading.Event(), threading.Event()
        self.election = Election(lambda: Client(loaded), Key(namespace, "lease"), identity, timing)

    def changed(self, leading: bool) -> None:
        (self.led if leading else self.over).set()

    def stand(self) -> None:
        self.election.start(self.changed)

    async def wins(self) -> None:
        assert await asyncio.to_thread(self.led.wait, 10)


@pytest.fixture
async def first(control_plane: ControlPlane, namespace: str) -> AsyncIterator[Candidate]:
    candidate = Candidate(control_plane, namespace, "first")
    yield candidate
    await candidate.election.stop()


@pytest.fixture
async def second(control_plane: ControlPlane, namespace: str) -> AsyncIterator[Candidate]:
    candidate = Candidate(control_plane, namespace, "second")
    yield candidate
    await candidate.election.stop()


async def test_the_only_candidate_wins_and_the_lease_says_who_leads(
    first: Candidate, client: Client, namespace: str
) -> None:
    with pytest.raises(NotLeadingError):
        first.election.fence()
    first.stand()
    await first.wins()
    first.election.fence()
    spec = (await client.get(LEASES, Key(namespace, "lease")))["spec"]
    assert (spec["holderIdentity"], spec["leaseDurationSeconds"]) == ("first", 2)


async def test_a_leader_stays_leader_and_the_other_waits(
    first: Candidate, second: Candidate, client: Client, namespace: str
) -> None:
    first.stand()
    await first.wins()
    second.stand()
    await asyncio.sleep(FAST.duration * 1.5)
    assert first.election.leading
    assert not second.election.leading
    assert (await client.get(LEASES, Key(namespace, "lease")))["spec"].get("leaseTransitions") == 0


async def test_a_leader_that_stops_hands_over_at_once(first: Candidate, second: Candidate) -> None:
    first.stand()
    await first.wins()
    second.stand()
    await first.election.stop()
    stopped = time.monotonic()
    assert not first.election.leading
    assert first.over.is_set()
    await second.wins()
    assert time.monotonic() - stopped < FAST.duration


async def test_a_blocked_main_loop_does_not_lose_the_lease(first: Candidate, second: Candidate) -> None:
    first.stand()
    await first.wins()
    second.stand()
    time.sleep(FAST.duration * 2)  # noqa: ASYNC251 - this is the fault
    assert first.election.leading
    assert not second.led.is_set()


async def test_when_the_api_server_is_gone_the_leader_stops_before_the_lease_can_be_taken(
    private_plane: ControlPlane,
) -> None:
    leader = Candidate(private_plane, "default", "first")
    leader.stand()
    await leader.wins()
    private_plane.stop("kube-apiserver")
    gone = time.monotonic()
    assert await asyncio.to_thread(leader.over.wait, 10)
    assert not leader.election.leading
    assert time.monotonic() - gone < FAST.duration
    await leader.election.stop()


async def test_a_leader_whose_lease_was_taken_by_force_stops_and_does_not_take_it_back(
    first: Candidate, client: Client, namespace: str
) -> None:
    first.stand()
    await first.wins()

    async def stolen() -> bool:
        lease = await client.get(LEASES, Key(namespace, "lease"))
        lease["spec"]["holderIdentity"] = "thief"
        try:
            await client.replace(LEASES, lease)
        except ConflictError:
            return False
        return True

    await until(stolen)
    assert await asyncio.to_thread(first.over.wait, 10)
    assert not first.election.leading
    assert (await client.get(LEASES, Key(namespace, "lease")))["spec"]["holderIdentity"] == "thief"


Contend = Callable[[str], Awaitable[Process]]


@pytest.fixture
async def contend(control_plane: ControlPlane, namespace: str) -> AsyncIterator[Contend]:
    """Starts processes that stand for election, and ends them."""
    processes: list[Process] = []

    async def start(identity: str) -> Process:
        program = Path(__file__).with_name("contender.py")
        times = (str(FAST.duration), str(FAST.renew), str(FAST.retry))
        words = (str(program), str(control_plane.kubeconfig), namespace, identity, *times)
        processes.append(await asyncio.create_subprocess_exec(sys.executable, *words, stdout=PIPE))
        return processes[-1]

    yield start
    for process in processes:
        if process.returncode is None:
            process.kill()
        await process.communicate()


async def says(process: Process) -> str:
    assert process.stdout
    return (await asyncio.wait_for(process.stdout.readline(), 20)).decode().strip()


class Counter(View, frozen=True, gc=False):
    data: dict[str, str]


async def test_a_leader_paused_past_expiry_never_writes_beside_its_successor(
    contend: Contend, client: Client, namespace: str
) -> None:
    first = await contend("first")
    assert await says(first) == "led"
    second = await contend("second")
    writers: list[str] = []

    async def record() -> None:
        listing = await client.list(CONFIG_MAPS, namespace, as_=View)
        counter = Selection(CONFIG_MAPS, namespace, field_selector="metadata.name=counter")
        version = listing.resource_version
        async for event in client.watch(counter, resource_version=version, seconds=60, silence=60):
            note(event)

    def note(event: WatchEvent) -> None:
        if event.type != BOOKMARK:
            writers.append(msgspec.json.decode(event.object, type=Counter).data["writer"])

    async def wrote(identity: str) -> bool:
        return writers.count(identity) > 10

    recording = asyncio.create_task(record())
    await until(lambda: wrote("first"))
    first.send_signal(signal.SIGUSR2)
    assert await says(second) == "led"
    await until(lambda: wrote("second"))
    first.send_signal(signal.SIGCONT)
    assert await says(first) == "over"
    assert await asyncio.wait_for(first.wait(), 20) == 0
    recording.cancel()
    handover = writers.index("second")
    assert set(writers[:handover]) == {"first"}
    assert set(writers[handover:]) == {"second"}
