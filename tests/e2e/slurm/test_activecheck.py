"""ActiveChecks that are jobs in Slurm, with a real Slurm and a real API server."""

import asyncio
import base64
import uuid
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from dev.controlplane import ControlPlane
from slurmery.api.nebius import ActiveCheck, SlurmCluster
from slurmery.health.active.program import Settings, wire
from slurmery.health.active.reconcile import ACTIVE_CHECKS
from slurmery.kube import config
from slurmery.kube.client import Client
from slurmery.kube.meta import Key
from slurmery.kube.resources import NAMESPACES, SECRETS
from slurmery.kube.runtime import Listen, Runtime
from slurmery.nebius.kinds import SLURM_CLUSTERS
from slurmery.slurm.client import SlurmClient
from tests.controlplane.definitions import define
from tests.controlplane.slinky.scene import Scene, until
from tests.e2e.slurm.lab import Lab
from tests.unit.nebius.clusters import manifest

OPTIONS = "#SBATCH -p all -D /tmp -o /dev/null -e /dev/null --time=5 --deadline=now+1hour"


@pytest.fixture(scope="module")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    with ControlPlane(tmp_path_factory.mktemp("active")) as plane:
        asyncio.run(define(plane, (ActiveCheck, SlurmCluster)))
        yield plane


@pytest.fixture
async def scene(plane: ControlPlane, lab: Lab) -> AsyncIterator[Scene]:
    name = f"test-{uuid.uuid4().hex[:8]}"
    async with Client(config.load(plane.kubeconfig)) as client:
        await client.create(NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        scene = Scene(plane, client, name)
        await scene.create(SLURM_CLUSTERS, "aurora", manifest("1.22", "SlurmCluster")["spec"])
        status = {"status": {"phase": "Available"}}
        await client.patch(SLURM_CLUSTERS, Key(name, "aurora"), status, subresource="status")
        data = {"rest_jwt.key": base64.b64encode(lab.key).decode()}
        head = {"apiVersion": "v1", "kind": "Secret"}
        metadata = {"name": "aurora-rest-jwt-key", "namespace": name}
        await client.create(SECRETS, {**head, "metadata": metadata, "data": data})
        yield scene
        await client.delete(NAMESPACES, Key("", name))


def check(script: str, **fields: Any) -> dict[str, Any]:
    return {
        "name": "diag",
        "slurmClusterRefName": "aurora",
        "checkType": "slurmJob",
        "slurmJobSpec": {"sbatchScript": f"#!/bin/sh\n{OPTIONS}\n{script}\n", "eachWorkerJobs": True},
        "reactions": {"setCondition": True, "drainSlurmNode": True},
        **fields,
    }


@asynccontextmanager
async def checks(scene: Scene, lab: Lab) -> AsyncIterator[None]:
    async with Client(config.load(scene.plane.kubeconfig)) as client:
        runtime = Runtime(client, "test", Listen())
        settings = Settings(namespaces=(scene.namespace,), user="slurm", every=1.0)
        wire(runtime, settings, reach=lambda _: lab.url)
        running = asyncio.create_task(runtime.run())
        try:
            yield
        finally:
            runtime.stop()
            await running


async def run(scene: Scene) -> dict[str, Any]:
    found = await scene.get(ACTIVE_CHECKS, "diag") or {}
    return dict(found.get("status", {}).get("slurmJobsStatus") or {})


async def becomes(scene: Scene, state: str, seconds: float = 60) -> dict[str, Any]:
    async def said() -> dict[str, Any] | None:
        status = await run(scene)
        return status if status.get("lastRunStatus") == state else None

    return await until(said, seconds)


async def jobs(slurm: SlurmClient, scene: Scene) -> list[str]:
    listed = await slurm.jobs()
    return sorted(job.nodes for job in listed.items if scene.namespace in job.comment) if listed else []


async def reasons(slurm: SlurmClient) -> dict[str, str]:
    listed = await slurm.nodes()
    assert listed
    return {node.name: node.reason for node in listed.items if node.has_drain}


async def test_every_worker_is_checked_once_and_healthy_ones_are_left_alone(
    scene: Scene, lab: Lab, slurm: SlurmClient
) -> None:
    await scene.create(ACTIVE_CHECKS, "diag", check("exit 0"))
    async with checks(scene, lab):
        status = await becomes(scene, "Complete")
        await asyncio.sleep(3)
    assert status["lastJobState"] == "Complete"
    assert len(status["lastRunId"].split(",")) == 2
    assert await jobs(slurm, scene) == ["n0", "n1"]
    assert await reasons(slurm) == {}


async def test_a_failing_check_drains_its_node_and_an_admins_drain_stays(
    scene: Scene, lab: Lab, slurm: SlurmClient
) -> None:
    await scene.create(ACTIVE_CHECKS, "diag", check("sleep 3; test $SLURMD_NODENAME = n2"))
    async with checks(scene, lab):
        await becomes(scene, "InProgress")

        async def both() -> bool:
            return await jobs(slurm, scene) == ["n0", "n1"]

        await until(both)
        lab.run("scontrol", "update", "nodename=n1", "state=drain", "reason=bad fan, ana")
        status = await becomes(scene, "Failed")
    assert status["lastJobState"] == "Failed"
    drained = await reasons(slurm)
    assert drained["n0"].startswith("[node_problem] Failed diag: job ")
    assert drained["n1"] == "bad fan, ana"


async def test_a_check_that_hangs_until_its_time_limit_drains_its_node(
    scene: Scene, lab: Lab, slurm: SlurmClient
) -> None:
    hangs = check("#SBATCH --time=1\nsleep 600")
    hangs["slurmJobSpec"]["maxNumberOfJobs"] = 1
    await scene.create(ACTIVE_CHECKS, "diag", hangs)
    async with checks(scene, lab):
        status = await becomes(scene, "Failed", seconds=240)
    assert status["lastJobFailReasons"] == ["TIMEOUT TimeLimit"]
    [reason] = (await reasons(slurm)).values()
    assert reason.startswith("[node_problem] Failed diag: job ")


async def test_a_run_goes_on_where_a_killed_process_left_it(
    scene: Scene, lab: Lab, slurm: SlurmClient
) -> None:
    await scene.create(ACTIVE_CHECKS, "diag", check("sleep 4"))
    async with checks(scene, lab):

        async def one() -> bool:
            return bool(await jobs(slurm, scene))

        await until(one)
    # As if it had died between the submission and the note of it.
    patch = {"status": {"slurmJobsStatus": {"lastRunId": "", "lastJobId": "", "lastRunStatus": "InProgress"}}}
    key = Key(scene.namespace, "diag")
    await scene.client.patch(ACTIVE_CHECKS, key, patch, subresource="status")
    async with checks(scene, lab):
        await becomes(scene, "Complete")
    assert await jobs(slurm, scene) == ["n0", "n1"]


async def test_an_option_that_cannot_be_passed_on_is_said_and_nothing_is_submitted(
    scene: Scene, lab: Lab, slurm: SlurmClient
) -> None:
    await scene.create(ACTIVE_CHECKS, "diag", check("#SBATCH --array=1-4\ntrue"))
    async with checks(scene, lab):
        await scene.says(ACTIVE_CHECKS, "diag", "Degraded", "True", "--array")
    assert await jobs(slurm, scene) == []
