"""Workers of Slinky Controllers are looked after like all others, where no other kinds are known at all."""

import asyncio
import uuid
from collections.abc import AsyncIterator, Iterator

import pytest

from dev.controlplane import ControlPlane
from slurmery.api import slinky
from slurmery.health.repair import policy as names
from slurmery.kube import config
from slurmery.kube.client import Client
from slurmery.kube.meta import Key
from slurmery.kube.resources import NAMESPACES, SERVICE_ACCOUNTS
from slurmery.slinky.kinds import REST_APIS
from tests.controlplane.definitions import define

from .stage import CLUSTER, Checks, SlinkyStage, Slurm

MAINTENANCE = "MaintenanceScheduled"


@pytest.fixture(scope="module")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    with ControlPlane(tmp_path_factory.mktemp("slinky")) as plane:
        asyncio.run(define(plane, slinky.KINDS))
        yield plane


@pytest.fixture
async def stage(plane: ControlPlane, slurm: Slurm) -> AsyncIterator[SlinkyStage[Slurm]]:
    name = f"test-{uuid.uuid4().hex[:8]}"
    async with Client(config.load(plane.kubeconfig)) as client:
        await client.create(NAMESPACES, {"metadata": {"name": name}})
        await client.create(SERVICE_ACCOUNTS, {"metadata": {"name": "default", "namespace": name}})
        stage = SlinkyStage(plane, client, name, slurm)
        await stage.cluster()
        yield stage
        await stage.clean()


async def test_a_node_of_slinky_workers_is_replaced_and_an_administrators_drain_stays(
    stage: SlinkyStage[Slurm], checks: Checks
) -> None:
    host = await stage.node(0, workers=2)
    stage.slurm.runs("worker-0", 7)
    stage.slurm.says("worker-01", "IDLE", "DRAIN", reason="bad fan, ana")
    await stage.say(0, MAINTENANCE, "True")
    await stage.drained("worker-0", names.REPLACEMENT_REASON)
    await stage.hears(host, "Jobs run on worker-0: they are waited for.")
    await stage.hears(CLUSTER, f"Node {host}: worker-0 is drained")
    stage.slurm.ends("worker-0")
    await stage.says(0, names.DRAIN, "True", names.NEED_DRAIN)
    await stage.evict("worker-0", "worker-01")
    await stage.say(0, names.DRAIN, "True", names.DRAINED)
    await stage.gone(0)

    await stage.node(1, workers=0)
    await stage.worker("worker-0", stage.host(1))
    await stage.worker("worker-01", stage.host(1))
    await stage.undrained("worker-0")
    assert stage.slurm.reason("worker-01") == "bad fan, ana"
    assert stage.slurm.callers == {("slurm", True)}


async def test_without_a_restapi_nobody_can_be_asked_and_with_a_new_one_the_repair_goes_on(
    stage: SlinkyStage[Slurm], checks: Checks
) -> None:
    await stage.client.delete(REST_APIS, Key(stage.namespace, CLUSTER))
    await checks.restart()
    host = await stage.node(0)
    await stage.say(0, MAINTENANCE, "True")
    await stage.hears(host, "Slurm does not tell of worker-0: they count as busy.")
    assert not stage.slurm.words
    await stage.restapi()
    await stage.drained("worker-0", names.REPLACEMENT_REASON)


async def test_the_key_that_slurmctld_was_started_with_signs_though_the_secret_has_a_newer_one(
    stage: SlinkyStage[Slurm], checks: Checks
) -> None:
    stage.slurm.key = b"older"
    await stage.copy(b"older")
    await checks.restart()
    stage.slurm.callers.clear()
    await stage.node(0)
    await stage.say(0, MAINTENANCE, "True")
    await stage.drained("worker-0", names.REPLACEMENT_REASON)
    assert {good for _, good in stage.slurm.callers} == {True}
