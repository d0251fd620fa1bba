"""JailedConfigs with a real API server; a real Slurm is in tests/e2e/slurm/test_reconfiguration.py."""

import asyncio
import json
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from dev.controlplane import ControlPlane
from slurmery.agents.jail.program import Writer
from slurmery.agents.jail.reconfiguration import Pace
from slurmery.api.nebius import JailedConfig
from slurmery.doors.views import resource
from slurmery.kube import config
from slurmery.kube.client import Client
from slurmery.kube.meta import Key
from slurmery.kube.resources import CONFIG_MAPS, NAMESPACES
from slurmery.kube.runtime import Listen, Runtime
from tests.controlplane.definitions import define

CONFIGS = resource(JailedConfig)
WRITER = "the jail's writer under test"
NOWHERE = "http://127.0.0.1:1"


class World:
    """One namespace with its jail."""

    def __init__(self, plane: ControlPlane, client: Client, namespace: str, jail: Path) -> None:
        self.plane = plane
        self.client = client
        self.namespace = namespace
        self.jail = jail

    async def config_map(self, name: str, **data: str) -> None:
        head = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": self._metadata(name)}
        await self.client.apply(CONFIG_MAPS, {**head, "data": data}, manager="tests")

    async def config(self, name: str, path: str, *actions: str, **labels: str) -> None:
        spec = {
            "configMap": {"name": name},
            "items": [{"key": "conf", "path": path}],
            "updateActions": list(actions),
        }
        head = {"apiVersion": CONFIGS.api_version, "kind": CONFIGS.kind}
        await self.client.create(CONFIGS, {**head, "metadata": self._metadata(name, **labels), "spec": spec})

    async def conditions(self, name: str) -> dict[str, tuple[str, str]]:
        found = await self.client.get(CONFIGS, Key(self.namespace, name))
        stated = found.get("status", {}).get("conditions", ())
        return {each["type"]: (each["status"], each["reason"]) for each in stated}

    async def says(self, name: str, files: tuple[str, str], actions: tuple[str, str]) -> None:
        wanted = {"FilesWritten": files, "UpdateActionsCompleted": actions}
        async with asyncio.timeout(30):
            while await self.conditions(name) != wanted:  # noqa: ASYNC110
                await asyncio.sleep(0.05)

    async def holds(self, path: str, text: str) -> None:
        async with asyncio.timeout(30):
            while not (self.jail / path).exists() or (self.jail / path).read_text() != text:  # noqa: ASYNC110
                await asyncio.sleep(0.05)

    async def rests(self) -> None:
        """Wait until a second has passed without a write."""
        seen = -1
        while (writes := self.writes()) != seen:
            seen = writes
            await asyncio.sleep(1)

    def writes(self) -> int:
        events = map(json.loads, self.plane.audit_log.read_text().splitlines())
        return sum(
            event.get("userAgent") == WRITER
            and event["verb"] in {"create", "update", "patch"}
            and event.get("objectRef", {}).get("namespace") == self.namespace
            for event in events
        )

    @asynccontextmanager
    async def writer(self) -> AsyncIterator[None]:
        """The program at work."""
        async with Client(config.load(self.plane.kubeconfig), user_agent=WRITER) as client:
            runtime = Runtime(client, "test", Listen())
            Writer(self.namespace, "orion", self.jail, NOWHERE, Pace(0, 1, 60)).wire(runtime)
            running = asyncio.create_task(runtime.run())
            try:
                yield
            finally:
                runtime.stop()
                await running

    def _metadata(self, name: str, **labels: str) -> dict[str, Any]:
        return {"name": name, "namespace": self.namespace, "labels": labels}


@pytest.fixture
async def world(control_plane: ControlPlane, tmp_path: Path) -> AsyncIterator[World]:
    async with Client(config.load(control_plane.kubeconfig)) as client:
        await define(control_plane, [JailedConfig])
        name = f"test-{uuid.uuid4().hex[:8]}"
        await client.create(NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        yield World(control_plane, client, name, tmp_path)


async def test_files_follow_their_config_map_and_a_restart_writes_nothing(world: World) -> None:
    await world.config_map("limits", conf="nofile 1024")
    await world.config("limits", "/etc/security/limits.conf")
    async with world.writer():
        await world.says("limits", ("True", "Success"), ("True", "MissingAction"))
        await world.config_map("limits", conf="nofile 2048")
        await world.holds("etc/security/limits.conf", "nofile 2048")
        await world.rests()
    # Events may be told as late as the end.
    inode, writes = (world.jail / "etc/security/limits.conf").stat().st_ino, world.writes()
    async with world.writer():
        await asyncio.sleep(2)
    assert world.writes() == writes
    assert (world.jail / "etc/security/limits.conf").stat().st_ino == inode


async def test_bytes_that_are_no_text_are_written_as_they_are(world: World) -> None:
    head = {"apiVersion": "v1", "kind": "ConfigMap", "binaryData": {"conf": "AP8="}}
    metadata = {"name": "key", "namespace": world.namespace}
    await world.client.create(CONFIG_MAPS, {**head, "metadata": metadata})
    await world.config("key", "/etc/key")
    async with world.writer():
        await world.says("key", ("True", "Success"), ("True", "MissingAction"))
    assert (world.jail / "etc/key").read_bytes() == b"\x00\xff"


async def test_a_file_that_somebody_changed_in_the_jail_is_mended(world: World) -> None:
    await world.config_map("limits", conf="nofile 1024")
    await world.config("limits", "/etc/limits.conf")
    (world.jail / "etc").mkdir()
    (world.jail / "etc/limits.conf").write_text("tampered")
    async with world.writer():
        await world.holds("etc/limits.conf", "nofile 1024")


async def test_while_slurm_is_away_files_are_written_and_the_wait_is_said(world: World) -> None:
    await world.config_map("slurm", conf="ClusterName=orion")
    await world.config("slurm", "/etc/slurm/slurm.conf", "Reconfigure")
    async with world.writer():
        await world.says("slurm", ("True", "Success"), ("False", "SlurmUnreachable"))
    assert (world.jail / "etc/slurm/slurm.conf").read_text() == "ClusterName=orion"


async def test_a_missing_config_map_is_said_and_found_when_it_appears(world: World) -> None:
    labels = {"slurm.nebius.ai/jailed-aggregation": "common"}
    await world.config_map("gres", conf="AutoDetect=nvidia")
    await world.config("gres", "/etc/slurm/gres.conf", **labels)
    await world.config("mpi", "/etc/slurm/mpi.conf", **labels)
    async with world.writer():
        await world.says("gres", ("True", "Success"), ("True", "Success"))
        await world.says("mpi", ("False", "NotFound"), ("False", "NotWritten"))
        await world.config_map("mpi", conf="PMIxEnv=x")
        await world.says("mpi", ("True", "Success"), ("True", "Success"))


async def test_a_symlink_in_the_jail_is_refused_in_words(world: World, tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "jail").mkdir()
    (tmp_path / "jail/etc").symlink_to(tmp_path / "outside")
    world.jail = tmp_path / "jail"
    await world.config_map("limits", conf="nofile 1024")
    await world.config("limits", "/etc/limits.conf")
    async with world.writer():
        await world.says("limits", ("False", "NotWritten"), ("False", "NotWritten"))
    assert not list((tmp_path / "outside").iterdir())
