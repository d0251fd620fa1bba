"""Workers of a SlurmCluster and the jobs on them: nobody runs the pods, the tests say how they are."""

import time
from typing import Any

from slurmery.doors.marks import FORCE
from slurmery.kube.errors import NotFoundError
from slurmery.kube.meta import Key
from slurmery.kube.resources import PODS, STATEFUL_SETS
from slurmery.nebius.kinds import SLURM_CLUSTERS
from tests.controlplane.nebius.conftest import Operator
from tests.controlplane.nebius.test_slurmcluster import orion
from tests.controlplane.slinky.scene import Scene, until
from tests.controlplane.slinky_nodeset.stage import Slurm

FORCED = {"metadata": {"annotations": {FORCE: "true"}}}


async def test_scale_in_goes_down_only_to_the_highest_worker_with_a_job(
    scene: Scene, slurm: Slurm, operator: Operator
) -> None:
    await running(scene, slurm, 3)
    slurm.says("worker-1", "ALLOCATED")
    await resize(scene, 1)
    await replicas(scene, 2)
    assert slurm.drained("worker-1")
    assert slurm.reason("worker-1").startswith("slurm-operator: ")
    assert not slurm.drained("worker-0")
    await scene.says(SLURM_CLUSTERS, "orion", "WorkersAvailable", "False", "worker-1: scale-in waits: it has")

    slurm.says("worker-1", "IDLE", "DRAIN", reason=slurm.reason("worker-1"))
    await replicas(scene, 1)


async def test_a_worker_that_is_wanted_again_gets_its_jobs_again(
    scene: Scene, slurm: Slurm, operator: Operator
) -> None:
    await running(scene, slurm, 2)
    slurm.says("worker-1", "MIXED")
    await resize(scene, 1)
    await drained(slurm, "worker-1")
    await resize(scene, 2)
    await undrained(slurm, "worker-1")
    assert (await stateful_set(scene))["spec"]["replicas"] == 2


async def test_an_update_waits_for_the_job_and_takes_the_idle_first(
    scene: Scene, slurm: Slurm, operator: Operator
) -> None:
    before = await running(scene, slurm, 2)
    slurm.says("worker-0", "ALLOCATED")
    await scene.patch(SLURM_CLUSTERS, "orion", {"spec": {"slurmNodes": {"worker": {"maxUnavailable": 1}}}})
    await update(scene, "slurmd:2")
    await renewed(scene, "worker-1", before)
    assert not slurm.drained("worker-0")
    await run(scene, slurm, "worker-1")
    await drained(slurm, "worker-0")
    await scene.says(SLURM_CLUSTERS, "orion", "WorkersAvailable", "True", "worker-0: update waits")
    assert (await pod(scene, "worker-0"))["metadata"]["uid"] == before["worker-0"]

    slurm.says("worker-0", "IDLE", "DRAIN", reason=slurm.reason("worker-0"))
    await renewed(scene, "worker-0", before)
    slurm.says("worker-0", "IDLE", "DRAIN", reason=slurm.reason("worker-0"))
    await start(scene, "worker-0")
    await undrained(slurm, "worker-0")


async def test_while_slurm_is_silent_nobody_is_taken_away_and_a_new_operator_goes_on(
    scene: Scene, slurm: Slurm, operator: Operator
) -> None:
    before = await running(scene, slurm, 2)
    slurm.silent = True
    await update(scene, "slurmd:2")
    await resize(scene, 1)
    words = "Slurm gives no answer"
    await scene.says(SLURM_CLUSTERS, "orion", "WorkersAvailable", "False", words)
    await operator.stop()
    await operator.start()
    await scene.settled(2.0)
    assert (await stateful_set(scene))["spec"]["replicas"] == 2
    assert (await pod(scene, "worker-0"))["metadata"]["uid"] == before["worker-0"]
    slurm.silent = False
    await replicas(scene, 1)


async def test_maintenance_lets_jobs_end_before_anything_sleeps(
    scene: Scene, slurm: Slurm, operator: Operator
) -> None:
    await running(scene, slurm, 1)
    slurm.says("worker-0", "ALLOCATED")
    await scene.patch(SLURM_CLUSTERS, "orion", {"spec": {"maintenance": "downscale"}})
    await scene.says(SLURM_CLUSTERS, "orion", "WorkersAvailable", "False", "it has running jobs")
    await scene.says(SLURM_CLUSTERS, "orion", "ControllersAvailable", "False", "stays until 1 workers")
    assert (await stateful_set(scene, "controller"))["spec"]["replicas"] == 1
    slurm.says("worker-0", "IDLE", "DRAIN", reason=slurm.reason("worker-0"))
    await replicas(scene, 0)
    await replicas(scene, 0, "controller")


async def test_a_cluster_goes_only_when_its_jobs_have_ended(
    scene: Scene, slurm: Slurm, operator: Operator
) -> None:
    await running(scene, slurm, 2)
    slurm.says("worker-0", "ALLOCATED")
    await scene.delete(SLURM_CLUSTERS, "orion")
    await drained(slurm, "worker-0", "worker-1")
    await scene.says(SLURM_CLUSTERS, "orion", "WorkersAvailable", "False", "worker-0: deletion waits")
    found = await scene.get(SLURM_CLUSTERS, "orion")
    assert found is not None
    assert found["status"]["phase"] == "Deleting"
    slurm.says("worker-0", "IDLE", "DRAIN", reason=slurm.reason("worker-0"))
    await gone(scene)


async def test_a_person_can_end_the_jobs_of_a_cluster(scene: Scene, slurm: Slurm, operator: Operator) -> None:
    await running(scene, slurm, 1)
    slurm.silent = True
    await scene.delete(SLURM_CLUSTERS, "orion")
    await scene.says(SLURM_CLUSTERS, "orion", "WorkersAvailable", "False", "being deleted")
    await scene.patch(SLURM_CLUSTERS, "orion", FORCED)
    await gone(scene)


async def test_workers_that_run_cost_nothing(scene: Scene, slurm: Slurm, operator: Operator) -> None:
    await running(scene, slurm, 2)
    await scene.settled(3.0)
    slurm.says("worker-0", "ALLOCATED")
    await operator.stop()
    await operator.start()
    await scene.settled(3.0)
    assert scene.writes() == []


async def running(scene: Scene, slurm: Slurm, size: int) -> dict[str, str]:
    """A cluster whose workers run and are idle; the answer is the uids of their pods."""
    worker = {"slurmNodes__worker__size": size, "slurmNodes__worker__priorityClass": None}
    spec = orion(maintenance="skipPopulateJail", **worker)
    await scene.create(SLURM_CLUSTERS, "orion", spec)
    names = [f"worker-{ordinal}" for ordinal in range(size)]
    await run(scene, slurm, *names)
    for name in names:
        await registered(scene, name)
    return {name: (await pod(scene, name))["metadata"]["uid"] for name in names}


async def run(scene: Scene, slurm: Slurm, *names: str) -> None:
    for name in names:
        await start(scene, name)
        slurm.says(name, "IDLE")


async def start(scene: Scene, name: str) -> None:
    await scene.exists(PODS, name)
    now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    ready = {"type": "Ready", "status": "True", "lastTransitionTime": now}
    status = {"phase": "Running", "conditions": [ready]}
    key = Key(scene.namespace, name)
    await scene.client.patch(PODS, key, {"status": status}, kind="strategic", subresource="status")


async def registered(scene: Scene, name: str) -> None:
    async def look() -> bool:
        return "slurmery/registered" in (await pod(scene, name))["metadata"].get("annotations", {})

    await until(look)


async def pod(scene: Scene, name: str) -> dict[str, Any]:
    [found] = await scene.exists(PODS, name)
    return dict(found)


async def stateful_set(scene: Scene, name: str = "worker") -> dict[str, Any]:
    [found] = await scene.exists(STATEFUL_SETS, name)
    return dict(found)


async def resize(scene: Scene, size: int) -> None:
    await scene.patch(SLURM_CLUSTERS, "orion", {"spec": {"slurmNodes": {"worker": {"size": size}}}})


async def update(scene: Scene, image: str) -> None:
    worker = {"slurmd": {"image": image}}
    await scene.patch(SLURM_CLUSTERS, "orion", {"spec": {"slurmNodes": {"worker": worker}}})


async def replicas(scene: Scene, number: int, name: str = "worker") -> None:
    async def look() -> bool:
        return bool((await stateful_set(scene, name))["spec"]["replicas"] == number)

    await until(look)


async def drained(slurm: Slurm, *names: str) -> None:
    async def look() -> bool:
        return all(slurm.drained(name) for name in names)

    await until(look)


async def undrained(slurm: Slurm, name: str) -> None:
    async def look() -> bool:
        return not slurm.drained(name)

    await until(look)


async def renewed(scene: Scene, name: str, before: dict[str, str]) -> None:
    async def look() -> bool:
        try:
            found = await scene.client.get(PODS, Key(scene.namespace, name))
        except NotFoundError:
            return False
        return bool(found["metadata"]["uid"] != before[name])

    await until(look)


async def gone(scene: Scene) -> None:
    async def look() -> bool:
        return await scene.get(SLURM_CLUSTERS, "orion") is None

    await until(look)
