"""ActiveChecks that are jobs in Slurm, with a real Slurm and a real API server."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractAsyncContextManager
from typing import Any

import pytest

from dev.controlplane import ControlPlane
from slurmery.health.active.reconcile import ACTIVE_CHECKS
from slurmery.kube.meta import Key
from slurmery.slurm.client import SlurmClient
from tests.controlplane.health import active
from tests.controlplane.slinky.scene import Scene, until
from tests.e2e.slurm.lab import Lab

OPTIONS = "#SBATCH -p all -D /tmp -o /dev/null -e /dev/null --time=5 --deadline=now+1hour"


@pytest.fixture(scope="module")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    with active.control_plane(tmp_path_factory.mktemp("active")) as plane:
        yield plane


@pytest.fixture
async def scene(plane: ControlPlane, lab: Lab) -> AsyncIterator[Scene]:
    async with active.cluster(plane, lab.key) as scene:
        await active.phase(scene.client, Key(scene.namespace, active.CLUSTER), "Available")
        yield scene


def check(script: str, **fields: Any) -> dict[str, Any]:
    return {
        "name": "diag",
        "slurmClusterRefName": "aurora",
        "checkType": "slurmJob",
        "slurmJobSpec": {"sbatchScript": f"#!/bin/sh\n{OPTIONS}\n{script}\n", "eachWorkerJobs": True},
        "reactions": {"setCondition": True, "drainSlurmNode": True},
        **fields,
    }


def checks(scene: Scene, lab: Lab) -> AbstractAsyncContextManager[None]:
    return active.checks(scene.plane, scene.namespace, lab.url, user="slurm")


async def becomes(scene: Scene, state: str, seconds: float = 60) -> dict[str, Any]:
    return await active.run_becomes(scene.client, Key(scene.namespace, "diag"), state, seconds)


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


@pytest.mark.parametrize("lab", ["26.05"], indirect=True)
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
    await scene.create(ACTIVE_CHECKS, "diag", check("#SBATCH --wckey=x\ntrue"))
    async with checks(scene, lab):
        await scene.says(ACTIVE_CHECKS, "diag", "Degraded", "True", "--wckey")
    assert await jobs(slurm, scene) == []


async def test_a_check_whose_node_is_lost_has_failed(scene: Scene, lab: Lab, slurm: SlurmClient) -> None:
    await scene.create(ACTIVE_CHECKS, "diag", check("test $SLURMD_NODENAME = n0 || sleep 600"))
    async with checks(scene, lab):

        async def both() -> bool:
            return await jobs(slurm, scene) == ["n0", "n1"]

        await until(both)
        lab.run("scontrol", "update", "nodename=n1", "state=down", "reason=lost")
        status = await becomes(scene, "Failed")
        lab.run("scontrol", "update", "nodename=n1", "state=resume")
    assert status["lastJobState"] == "Degraded"
    [job] = status["lastRunFailJobsAndReasons"]
    assert job["reason"].startswith("NODE_FAIL")


async def test_each_task_of_an_array_is_followed(scene: Scene, lab: Lab, slurm: SlurmClient) -> None:
    array = check("#SBATCH --array=0-1\nexit $SLURM_ARRAY_TASK_ID", reactions={"commentSlurmNode": True})
    array["slurmJobSpec"]["eachWorkerJobs"] = False
    await scene.create(ACTIVE_CHECKS, "diag", array)
    async with checks(scene, lab):
        status = await becomes(scene, "Failed")
    assert status["lastJobState"] == "Degraded"
    assert len(status["lastRunFailJobsAndReasons"]) == 1
    assert "," not in status["lastRunId"]
    listed = await slurm.nodes()
    assert listed
    assert any(node.comment.startswith("Failed diag: job ") for node in listed.items)
    assert await reasons(slurm) == {}


@pytest.mark.parametrize("lab", ["26.05"], indirect=True)
async def test_no_more_checks_run_at_once_than_are_allowed(
    scene: Scene, lab: Lab, slurm: SlurmClient
) -> None:
    for name in ("diag", "second"):
        await scene.create(ACTIVE_CHECKS, name, {**check("sleep 2"), "name": name})
    async with active.checks(scene.plane, scene.namespace, lab.url, user="slurm", limit=1):
        await becomes(scene, "Complete")
        await active.run_becomes(scene.client, Key(scene.namespace, "second"), "Complete")
    listed = await slurm.jobs()
    assert listed
    ours = [job for job in listed.items if scene.namespace in job.comment]
    first, second = sorted(
        ([job for job in ours if job.name == name] for name in ("diag", "second")),
        key=lambda found: min(job.start_time or 0 for job in found),
    )
    assert max(job.end_time or 0 for job in first) <= min(job.start_time or 0 for job in second)


QUARANTINE = {
    "failureReactions": {"addReservation": {"prefix": "suspect"}},
    "successReactions": {"removeReservation": {"prefix": "suspect"}},
}


@pytest.mark.parametrize("lab", ["26.05"], indirect=True)
async def test_a_failing_node_is_kept_for_checks_until_one_passes_there(
    scene: Scene, lab: Lab, slurm: SlurmClient
) -> None:
    await scene.create(ACTIVE_CHECKS, "diag", check("test $SLURMD_NODENAME != n0", **QUARANTINE))

    async def reserved() -> list[str]:
        listed = await slurm.reservations()
        return [one.name for one in listed.items] if listed else []

    async with checks(scene, lab):
        await becomes(scene, "Failed")
        assert await reserved() == ["suspect-n0"]
        assert await reasons(slurm) == {}
        alice = ["setpriv", "--reuid=2001", "--regid=2001", "--clear-groups"]
        words = ["sbatch", "--test-only", "--nodelist=n0", "--time=1", "--wrap=true"]
        refusal = lab.run("sh", "-c", f"{' '.join([*alice, *words])} 2>&1 || :")
        assert "start at" not in refusal
        await scene.create(ACTIVE_CHECKS, "again", check("true", **QUARANTINE))
        status = await active.run_becomes(scene.client, Key(scene.namespace, "again"), "Complete")
    assert len(status["lastRunId"].split(",")) == 2
    assert await reserved() == []


@pytest.mark.parametrize("lab", ["24.11"], indirect=True)
async def test_where_slurm_cannot_reserve_it_is_said_and_nothing_is_submitted(
    scene: Scene, lab: Lab, slurm: SlurmClient
) -> None:
    await scene.create(ACTIVE_CHECKS, "diag", check("false", **QUARANTINE))
    async with checks(scene, lab):
        await scene.says(ACTIVE_CHECKS, "diag", "Degraded", "True", "cannot make reservations")
    assert await jobs(slurm, scene) == []
