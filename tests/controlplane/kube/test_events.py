"""Events as a person sees them with kubectl."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from slurmery.kube.client import Client
from slurmery.kube.events import Recorder, Regarding
from slurmery.kube.meta import Key
from slurmery.kube.resources import CONFIG_MAPS, EVENTS

from .conftest import until


@pytest.fixture
async def recorder(client: Client) -> AsyncIterator[Recorder]:
    recorder = Recorder(client, "nodeset", "slurmery-0", flush=0.1)
    running = asyncio.create_task(recorder.run())
    yield recorder
    running.cancel()


async def events(client: Client, namespace: str) -> list[dict[str, Any]]:
    return (await client.list(EVENTS, namespace)).items


async def test_an_event_says_what_happened_to_whom(
    recorder: Recorder, client: Client, namespace: str
) -> None:
    gpu = Regarding(CONFIG_MAPS, Key(namespace, "gpu"), "uid-1")
    recorder.record(gpu, "Warning", "Drained", "Node gpu-0 was drained: GPU fell off the bus")

    async def written() -> bool:
        return len(await events(client, namespace)) == 1

    await until(written)
    (event,) = await events(client, namespace)
    assert event["regarding"] == {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "name": "gpu",
        "namespace": namespace,
        "uid": "uid-1",
    }
    assert (event["type"], event["reason"], event["action"]) == ("Warning", "Drained", "Reconcile")
    assert event["note"] == "Node gpu-0 was drained: GPU fell off the bus"
    assert (event["reportingController"], event["reportingInstance"]) == ("nodeset", "slurmery-0")


async def test_repetitions_are_one_event_whose_count_grows(
    recorder: Recorder, client: Client, namespace: str
) -> None:
    gpu = Regarding(CONFIG_MAPS, Key(namespace, "gpu"), "uid-1")

    async def count() -> int:
        found = await events(client, namespace)
        assert len(found) <= 1
        return found[0].get("series", {}).get("count", 1) if found else 0

    for expected in (1, 500, 501):
        for _ in range(expected - await count()):
            recorder.record(gpu, "Normal", "Waiting", "Waiting for slurmctld")

        async def shown(wanted: int = expected) -> bool:
            return await count() == wanted

        await until(shown)


async def test_a_repetition_of_an_event_that_the_cluster_has_forgotten_is_written_anew(
    recorder: Recorder, client: Client, namespace: str
) -> None:
    gpu = Regarding(CONFIG_MAPS, Key(namespace, "gpu"), "uid-1")
    recorder.record(gpu, "Normal", "Waiting", "Waiting for slurmctld")

    async def written() -> bool:
        return len(await events(client, namespace)) == 1

    await until(written)
    (event,) = await events(client, namespace)
    await client.delete(EVENTS, Key(namespace, event["metadata"]["name"]))
    recorder.record(gpu, "Normal", "Waiting", "Waiting for slurmctld")
    await until(written)


async def test_what_waits_at_the_end_is_written_on_the_way_out(client: Client, namespace: str) -> None:
    recorder = Recorder(client, "nodeset", "slurmery-0")
    recorder.record(Regarding(CONFIG_MAPS, Key(namespace, "gpu")), "Normal", "Stopping", "Bye")
    await recorder.flush()
    assert [event["note"] for event in await events(client, namespace)] == ["Bye"]
