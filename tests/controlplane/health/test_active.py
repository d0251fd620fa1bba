"""ActiveChecks that are pods, with a real API server and Kubernetes' own controllers.

Those that are jobs in Slurm are tried with a real one: tests/e2e/slurm/test_activecheck.py.
"""

import asyncio
import uuid
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from dev.controlplane import ControlPlane
from slurmery.api.nebius import ActiveCheck, SlurmCluster
from slurmery.health.active.program import Settings, wire
from slurmery.health.active.reconcile import ACTIVE_CHECKS, FINALIZER
from slurmery.kube import config
from slurmery.kube.client import Client
from slurmery.kube.meta import Key
from slurmery.kube.resources import CRON_JOBS, JOBS, NAMESPACES, PODS, ROLES
from slurmery.kube.runtime import Listen, Runtime
from slurmery.nebius.kinds import SLURM_CLUSTERS
from tests.controlplane.definitions import define
from tests.controlplane.slinky.scene import OPERATOR, Scene, until
from tests.unit.nebius.clusters import manifest

CHECK = {
    "name": "ssh",
    "slurmClusterRefName": "aurora",
    "schedule": "0 0 1 1 *",
    "suspend": False,
    "k8sJobSpec": {"jobContainer": {"image": "check", "command": ["true"]}},
}


@pytest.fixture(scope="module")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    with ControlPlane(tmp_path_factory.mktemp("active")) as plane:
        plane.start_controller_manager()
        asyncio.run(define(plane, (ActiveCheck, SlurmCluster)))
        yield plane


@pytest.fixture
async def scene(plane: ControlPlane) -> AsyncIterator[Scene]:
    name = f"test-{uuid.uuid4().hex[:8]}"
    async with Client(config.load(plane.kubeconfig)) as client:
        await client.create(NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        scene = Scene(plane, client, name)
        await scene.create(SLURM_CLUSTERS, "aurora", manifest("1.22", "SlurmCluster")["spec"])
        yield scene
        await client.delete(NAMESPACES, Key("", name))


async def phase(scene: Scene, word: str) -> None:
    key = Key(scene.namespace, "aurora")
    await scene.client.patch(SLURM_CLUSTERS, key, {"status": {"phase": word}}, subresource="status")


async def job_state(scene: Scene, check: str) -> str:
    found = await scene.get(ACTIVE_CHECKS, check) or {}
    return str((found.get("status", {}).get("k8sJobsStatus") or {}).get("lastJobStatus", ""))


async def becomes(scene: Scene, check: str, state: str) -> None:
    async def said() -> bool:
        return await job_state(scene, check) == state

    await until(said)


async def finish(scene: Scene, job: str, phase: str) -> None:
    """Let the pod of a Job end, as its kubelet would."""

    async def pod() -> dict[str, Any] | None:
        found = await scene.client.list(PODS, scene.namespace, label_selector=f"job-name={job}")
        return found.items[0] if found.items else None

    name = (await until(pod))["metadata"]["name"]
    await scene.client.patch(
        PODS, Key(scene.namespace, name), {"status": {"phase": phase}}, subresource="status"
    )


@asynccontextmanager
async def checks(scene: Scene) -> AsyncIterator[None]:
    async with Client(config.load(scene.plane.kubeconfig), user_agent=OPERATOR) as client:
        runtime = Runtime(client, "test", Listen())
        wire(runtime, Settings(namespaces=(scene.namespace,), every=1.0))
        running = asyncio.create_task(runtime.run())
        try:
            yield
        finally:
            runtime.stop()
            await running


async def test_a_check_waits_for_its_cluster_runs_once_and_costs_nothing_afterwards(scene: Scene) -> None:
    await scene.create(ACTIVE_CHECKS, "ssh", CHECK)
    async with checks(scene):
        await scene.says(ACTIVE_CHECKS, "ssh", "Progressing", "True", "aurora is not available")
        assert await scene.names(CRON_JOBS) == set()
        await phase(scene, "Available")
        await scene.exists(CRON_JOBS, "ssh")
        await scene.exists(JOBS, "ssh-initial-run")
        await scene.exists(ROLES, "aurora-activecheck-role")
        await becomes(scene, "ssh", "Active")
        await finish(scene, "ssh-initial-run", "Succeeded")
        await becomes(scene, "ssh", "Complete")
        await scene.says(ACTIVE_CHECKS, "ssh", "Progressing", "False")
        await scene.settled(2.0)
        await scene.delete(JOBS, "ssh-initial-run")
        await asyncio.sleep(2)
    assert {what for _, what, _ in scene.writes()} <= {"events"}
    async with checks(scene):
        await asyncio.sleep(2)
        assert scene.writes() == []
        assert await job_state(scene, "ssh") == "Complete"


async def test_a_check_runs_after_those_that_it_depends_on_have_passed(scene: Scene) -> None:
    await phase(scene, "Available")
    await scene.create(ACTIVE_CHECKS, "second", {**CHECK, "name": "second", "dependsOn": ["ssh"]})
    async with checks(scene):
        await scene.says(ACTIVE_CHECKS, "second", "Progressing", "True", "ssh does not exist")
        await scene.create(ACTIVE_CHECKS, "ssh", CHECK)
        await scene.says(ACTIVE_CHECKS, "second", "Progressing", "True", "ssh has not passed")
        await scene.exists(JOBS, "ssh-initial-run")
        await finish(scene, "ssh-initial-run", "Failed")
        await becomes(scene, "ssh", "Failed")
        assert await scene.names(CRON_JOBS) == {"ssh"}
        scene.kubectl("create", "job", "again", "--from=cronjob/ssh")
        await finish(scene, "again", "Succeeded")
        await becomes(scene, "ssh", "Complete")
        await scene.exists(JOBS, "second-initial-run")


async def test_maintenance_puts_the_schedule_on_hold(scene: Scene) -> None:
    await phase(scene, "Available")
    await scene.create(ACTIVE_CHECKS, "ssh", CHECK)

    async def on_hold(wanted: bool) -> None:
        async def seen() -> bool:
            [found] = await scene.exists(CRON_JOBS, "ssh")
            return bool(found["spec"]["suspend"] == wanted)

        await until(seen)

    async with checks(scene):
        await on_hold(False)
        await scene.patch(SLURM_CLUSTERS, "aurora", {"spec": {"maintenance": "downscale"}})
        await on_hold(True)
        await scene.patch(SLURM_CLUSTERS, "aurora", {"spec": {"maintenance": "none"}})
        await on_hold(False)


async def test_a_check_that_upstream_held_can_go(scene: Scene) -> None:
    await scene.create(ACTIVE_CHECKS, "ssh", CHECK)
    await scene.patch(ACTIVE_CHECKS, "ssh", {"metadata": {"finalizers": [FINALIZER]}})
    await scene.delete(ACTIVE_CHECKS, "ssh")
    async with checks(scene):

        async def gone() -> bool:
            return await scene.get(ACTIVE_CHECKS, "ssh") is None

        await until(gone)
