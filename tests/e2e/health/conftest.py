"""A real API server and a real Slurm whose workers stand on nodes that the test plays."""

import asyncio
import uuid
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from dev import images
from dev.controlplane import ControlPlane
from slurmery.api import nebius, slinky
from slurmery.kube import config
from slurmery.kube.client import Client
from slurmery.kube.resources import NAMESPACES, SERVICE_ACCOUNTS
from tests.controlplane.definitions import define
from tests.controlplane.health.stage import Checks, Stage
from tests.e2e.health.lab import Lab
from tests.e2e.health.programs import Programs


@pytest.fixture(scope="session")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    with ControlPlane(tmp_path_factory.mktemp("health")) as plane:
        plane.start_kwok()
        asyncio.run(define(plane, (*nebius.KINDS, *slinky.KINDS)))
        yield plane


@pytest.fixture(params=sorted(images.RELEASES))
def lab(request: pytest.FixtureRequest, plane: ControlPlane, tmp_path: Path) -> Iterator[Lab]:
    lab = Lab(request.param, tmp_path / "slurm", plane.plane.address)
    try:
        lab.start()
        yield lab
    finally:
        lab.stop()


@pytest.fixture(params=[Stage])
async def stage(request: pytest.FixtureRequest, plane: ControlPlane, lab: Lab) -> AsyncIterator[Stage[Lab]]:
    """A namespace with a cluster of either door, whose Slurm is the lab's."""
    name = f"test-{uuid.uuid4().hex[:8]}"
    async with Client(config.load(plane.kubeconfig)) as client:
        await client.create(NAMESPACES, {"metadata": {"name": name}})
        await client.create(SERVICE_ACCOUNTS, {"metadata": {"name": "default", "namespace": name}})
        stage: Stage[Lab] = request.param(plane, client, name, lab, patience=90)
        await stage.cluster(lab.key)
        yield stage
        await stage.clean()


@pytest.fixture
def programs(stage: Stage[Lab], tmp_path: Path) -> Iterator[Programs]:
    programs = Programs(stage.plane, stage.namespace, tmp_path)
    yield programs
    programs.kill()


@pytest.fixture
async def checks(stage: Stage[Lab]) -> AsyncIterator[Checks]:
    """The repair alone, in this process."""
    checks = Checks(stage)
    checks.start()
    yield checks
    await checks.kill()
