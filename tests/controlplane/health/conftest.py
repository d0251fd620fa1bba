"""An API server with nodes that the test plays, the repair of nodes, and a Slurm that obeys the test."""

import asyncio
import uuid
from collections.abc import AsyncIterator, Iterator

import pytest

from dev.controlplane import ControlPlane
from slurmery.api import nebius
from slurmery.kube import config
from slurmery.kube.client import Client
from slurmery.kube.meta import Key
from slurmery.kube.resources import NAMESPACES, SERVICE_ACCOUNTS
from tests.controlplane.definitions import define

from .stage import Checks, Slurm, Stage


@pytest.fixture(scope="session")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    with ControlPlane(tmp_path_factory.mktemp("health")) as plane:
        asyncio.run(define(plane, nebius.KINDS))
        yield plane


@pytest.fixture
async def slurm() -> AsyncIterator[Slurm]:
    async with Slurm().listening() as slurm:
        yield slurm


@pytest.fixture
async def stage(plane: ControlPlane, slurm: Slurm) -> AsyncIterator[Stage[Slurm]]:
    """A namespace of the test's own; its nodes go with it."""
    name = f"test-{uuid.uuid4().hex[:8]}"
    async with Client(config.load(plane.kubeconfig)) as client:
        await client.create(NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        account = {"name": "default", "namespace": name}
        await client.create(
            SERVICE_ACCOUNTS, {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": account}
        )
        stage = Stage(plane, client, name, slurm)
        await stage.cluster()
        yield stage
        await stage.clean()
        await client.delete(NAMESPACES, Key("", name))


@pytest.fixture
async def checks(stage: Stage[Slurm]) -> AsyncIterator[Checks]:
    """The repair at work; the test may kill it and start it again."""
    checks = Checks(stage)
    checks.start()
    yield checks
    await checks.kill()
