"""An API server that knows our kinds, and `slurmery` programs that work against it."""

import asyncio
import uuid
from collections.abc import AsyncIterator, Iterator

import pytest

from dev.controlplane import ControlPlane
from slurmery.api import slinky
from slurmery.kube import config
from slurmery.kube.client import Client
from slurmery.kube.meta import Key
from slurmery.kube.resources import NAMESPACES, SECRETS
from tests.controlplane.definitions import define

from .program import Program, Start
from .work import secret


@pytest.fixture(scope="session")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    with ControlPlane(tmp_path_factory.mktemp("programs")) as plane:
        asyncio.run(define(plane, slinky.KINDS))
        yield plane


@pytest.fixture
async def client(plane: ControlPlane) -> AsyncIterator[Client]:
    async with Client(config.load(plane.kubeconfig)) as client:
        yield client


@pytest.fixture
async def namespace(client: Client) -> AsyncIterator[str]:
    name = f"test-{uuid.uuid4().hex[:8]}"
    await client.create(NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    await client.create(SECRETS, secret(name, "keys"))
    yield name
    await client.delete(NAMESPACES, Key("", name))


@pytest.fixture
async def start(plane: ControlPlane, namespace: str) -> AsyncIterator[Start]:
    """Start a program by its name or by that of a link, and wait until it is ready."""
    started: list[Program] = []

    async def start(name: str, *flags: str, **environ: str) -> Program:
        program = await Program.start(plane, namespace, name, flags, environ)
        started.append(program)
        await program.becomes_ready()
        return program

    yield start
    for program in started:
        await program.kill()
