"""ActiveChecks that are pods, with a real API server and Kubernetes' own controllers.

Those that are jobs in Slurm are tried with a real one: tests/e2e/slurm/test_activecheck.py.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractAsyncContextManager
from typing import Any

import pytest

from dev.controlplane import ControlPlane
from slurmery.health.active.reconcile import ACTIVE_CHECKS, FINALIZER
from slurmery.kube.meta import Key
from slurmery.kube.resources import CRON_JOBS, JOBS, PODS, ROLES
from slurmery.nebius.kinds import SLURM_CLUSTERS
from tests.controlplane.health import active
from tests.controlplane.health.stage import Slurm
from tests.controlplane.slinky.scene import Scene, until

CHECK = {
    "name": "ssh",
    "slurmClusterRefName": "aurora",
    "schedule": "0 0 1 1 *",
    "suspend": False,
    "k8sJobSpec": {"jobContainer": {"image": "check", "command": ["true"]}},
}


@pytest.fixture(scope="module")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    with active.control_plane(tmp_path_factory.mktemp("active"), controllers=True) as plane:
        yield plane


@pytest.fixture
async def scene(plane: ControlPlane) -> AsyncIterator[Scene]:
    async with active.cluster(plane) as scene:
        yield scene


async def phase(scene: Scene, word: str) -> None:
    await active.phase(scene.client, Key(scene.namespace, active.CLUSTER), word)


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


def checks(scene: Scene) -> AbstractAsyncContextManager[None]:
    return active.checks(scene.plane, scene.namespace)


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


async def test_a_check_of_gpus_is_skipped_where_there_are_none_and_counts_as_passed(
    scene: Scene, slurm: Slurm
) -> None:
    await phase(scene, "Available")
    slurm.says("worker-0", "IDLE")
    script = "#!/bin/sh\n#SBATCH --gpus-per-node=8\ntrue\n"
    gpu = {**CHECK, "name": "gpu", "checkType": "slurmJob", "slurmJobSpec": {"sbatchScript": script}}
    await scene.create(ACTIVE_CHECKS, "gpu", gpu)
    await scene.create(ACTIVE_CHECKS, "ssh", {**CHECK, "dependsOn": ["gpu"]})
    async with active.checks(scene.plane, scene.namespace, slurm.url):
        told = await active.run_becomes(scene.client, Key(scene.namespace, "gpu"), "Skipped")
        await scene.exists(JOBS, "ssh-initial-run")
    assert told["lastJobState"] == "Complete"


async def test_a_check_starts_nothing_after_its_creation_unless_it_is_told_to(scene: Scene) -> None:
    await phase(scene, "Available")
    await scene.create(ACTIVE_CHECKS, "later", {**CHECK, "name": "later", "runAfterCreation": False})
    await scene.create(ACTIVE_CHECKS, "ssh", {**CHECK, "dependsOn": ["later"]})
    async with checks(scene):
        await scene.exists(JOBS, "ssh-initial-run")
        await scene.exists(CRON_JOBS, "later")
    assert await scene.names(JOBS) == {"ssh-initial-run"}


async def test_results_and_accounts_can_be_switched_off(scene: Scene) -> None:
    await phase(scene, "Available")
    script = "#!/bin/sh\ntrue\n"
    await scene.create(ACTIVE_CHECKS, "ssh", CHECK)
    job = {**CHECK, "name": "job", "checkType": "slurmJob", "slurmJobSpec": {"sbatchScript": script}}
    await scene.create(ACTIVE_CHECKS, "job", job)
    async with active.checks(scene.plane, scene.namespace, parts=frozenset()):
        await scene.exists(JOBS, "ssh-initial-run")
        await scene.says(ACTIVE_CHECKS, "job", "Progressing", "True", "activecheckjob is switched off")
        await asyncio.sleep(1)
    assert await scene.names(ROLES) == set()
    assert await job_state(scene, "ssh") == ""
