"""What the recorder does without an API server that answers; the rest is under controlplane."""

import asyncio
from typing import Any, cast

import pytest

from slurmery.kube.client import Client
from slurmery.kube.errors import NoAnswerError
from slurmery.kube.events import NOTE_LENGTH, Recorder, Regarding
from slurmery.kube.meta import Key
from slurmery.kube.resources import CONFIG_MAPS


class Server:
    """Takes events after `delay`, or refuses them."""

    def __init__(self) -> None:
        self.created: list[dict[str, Any]] = []
        self.patched: list[dict[str, Any]] = []
        self.delay = 0.0
        self.down = False

    async def create(self, resource: object, manifest: dict[str, Any]) -> None:
        await self._answer()
        self.created.append(manifest)

    async def patch(self, resource: object, key: Key, patch: dict[str, Any]) -> None:
        await self._answer()
        self.patched.append(patch)

    async def _answer(self) -> None:
        await asyncio.sleep(self.delay)
        if self.down:
            raise NoAnswerError("down")


@pytest.fixture
def server() -> Server:
    return Server()


def recorder(server: Server) -> Recorder:
    clock = asyncio.get_running_loop().time
    return Recorder(cast("Client", server), "nodeset", "slurmery-0", flush=30, clock=clock)


def regarding(name: str) -> Regarding:
    return Regarding(CONFIG_MAPS, Key("slurm", name), f"uid-{name}")


@pytest.mark.looptime
async def test_what_takes_long_to_write_is_not_written_twice(server: Server) -> None:
    server.delay = 40  # longer than the time between two looks at what is not written yet
    events = recorder(server)
    running = asyncio.create_task(events.run())
    events.record(regarding("a"), "Normal", "Created", "Pod created")
    await asyncio.sleep(200)
    running.cancel()
    assert (len(server.created), server.patched) == (1, [])


@pytest.mark.looptime
async def test_recording_takes_no_time_however_slow_the_server_is(server: Server) -> None:
    server.delay = 1000
    events = recorder(server)
    running = asyncio.create_task(events.run())
    for number in range(10_000):
        events.record(regarding(str(number)), "Normal", "Created", "Pod created")
    assert asyncio.get_running_loop().time() == 0
    assert events._queue.qsize() <= 1000
    assert len(events._series) <= 4096
    running.cancel()


@pytest.mark.looptime
async def test_events_that_could_not_be_written_are_written_when_the_server_is_back(server: Server) -> None:
    server.down = True
    events = recorder(server)
    running = asyncio.create_task(events.run())
    events.record(regarding("gpu"), "Normal", "Created", "Pod created")
    await asyncio.sleep(100)
    assert server.created == []
    server.down = False
    await asyncio.sleep(31)
    assert [event["note"] for event in server.created] == ["Pod created"]
    running.cancel()


@pytest.mark.looptime
async def test_repetitions_cost_one_write_per_half_minute(server: Server) -> None:
    events = recorder(server)
    running = asyncio.create_task(events.run())
    for _ in range(600):
        events.record(regarding("gpu"), "Warning", "Waiting", "Waiting for slurmctld")
        await asyncio.sleep(0.1)
    await asyncio.sleep(30)
    assert len(server.created) == 1
    assert [patch["series"]["count"] for patch in server.patched][-1] == 600
    assert len(server.patched) <= 3
    running.cancel()


@pytest.mark.looptime
async def test_after_a_long_silence_the_same_sentence_is_a_new_event(server: Server) -> None:
    events = recorder(server)
    running = asyncio.create_task(events.run())
    for _ in range(3):
        events.record(regarding("gpu"), "Normal", "Ready", "All nodes are ready")
        await asyncio.sleep(1000)
    assert len(server.created) == 3
    running.cancel()


@pytest.mark.looptime
async def test_an_object_that_talks_too_much_is_cut_off_and_others_are_not(server: Server) -> None:
    events = recorder(server)
    running = asyncio.create_task(events.run())
    for number in range(500):
        events.record(regarding("noisy"), "Normal", "Count", f"Number {number}")
    events.record(regarding("quiet"), "Normal", "Ready", "Ready")
    await asyncio.sleep(1)
    names = [event["regarding"]["name"] for event in server.created]
    assert (names.count("noisy"), names.count("quiet")) == (25, 1)
    await asyncio.sleep(31)
    events.record(regarding("noisy"), "Normal", "Count", "one more")
    await asyncio.sleep(1)
    assert len(server.created) == 27
    running.cancel()


@pytest.mark.looptime
async def test_a_note_is_cut_to_what_the_server_takes_and_cluster_wide_objects_speak_in_default(
    server: Server,
) -> None:
    events = recorder(server)
    events.record(Regarding(CONFIG_MAPS, Key("", "node-1")), "Normal", "Long", "x" * 5000)
    await events.flush()
    (event,) = server.created
    assert len(event["note"]) == NOTE_LENGTH
    assert event["metadata"]["namespace"] == "default"
    assert event["regarding"] == {"apiVersion": "v1", "kind": "ConfigMap", "name": "node-1"}
