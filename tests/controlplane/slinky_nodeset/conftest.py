"""An API server, the NodeSet half of our operator, and a Slurm that obeys the test."""

import asyncio
import uuid
from collections.abc import AsyncIterator, Iterator

import pytest

from dev.controlplane import ControlPlane
from slurmery.api import slinky
from slurmery.kube import config
from slurmery.kube.client import Client
from slurmery.kube.meta import Key
from slurmery.kube.resources import NAMESPACES, SERVICE_ACCOUNTS
from tests.controlplane.definitions import define

from .stage import Operator, Slurm, Stage


@pytest.fixture(scope="session")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    with ControlPlane(tmp_path_factory.mktemp("nodesets")) as plane:
        asyncio.run(define(plane, slinky.KINDS))
        yield plane


@pytest.fixture
async def slurm() -> AsyncIterator[Slurm]:
    async with Slurm().listening() as slurm:
        yield slurm


@pytest.fixture
async def stage(plane: ControlPlane, slurm: Slurm) -> AsyncIterator[Stage]:
    """A namespace of the test's own, with the account that pods run as."""
    name = f"test-{uuid.uuid4().hex[:8]}"
    async with Client(config.load(plane.kubeconfig)) as client:
        await client.create(NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        account = {
            "apiVersion": "v1",
            "kind": "ServiceAccount",
            "metadata": {"name": "default", "namespace": name},
        }
        await client.apply(SERVICE_ACCOUNTS, account, manager="tests")
        yield Stage(plane, client, name, slurm)
        await client.delete(NAMESPACES, Key("", name))


@pytest.fixture
async def operator(stage: Stage) -> AsyncIterator[Operator]:
    """Our operator at work in that namespace."""
    operator = Operator(stage)
    operator.start()
    yield operator
    await operator.kill()
