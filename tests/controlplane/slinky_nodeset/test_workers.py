"""Workers come, wait and go, with a real API server."""

import asyncio
from functools import partial

import pytest

from slurmery.doors import marks
from slurmery.kube.meta import Resource
from slurmery.kube.resources import POD_DISRUPTION_BUDGETS, SERVICES
from slurmery.slinky.kinds import NODE_SETS

from .stage import Operator, Stage, until

pytestmark = pytest.mark.usefixtures("operator")


async def test_workers_come_up_without_any_slurm(stage: Stage) -> None:
    await stage.cluster(restapi=False)
    await stage.nodeset(3)

    await stage.there("gpu-0", "gpu-1", "gpu-2")
    assert await stage.get(SERVICES, "slurm-workers-slurm")
    assert await stage.get(POD_DISRUPTION_BUDGETS, "slurm-workers-pdb-slurm")


async def test_what_workers_share_belongs_to_all_nodesets_of_their_cluster_and_to_no_other(
    stage: Stage,
) -> None:
    await stage.cluster(restapi=False)
    await stage.nodeset(0)
    images = {"slurmd": {"image": "slurmd"}, "logfile": {"image": "alpine"}}
    for name, controller in (("cpu", "slurm"), ("elsewhere", "other")):
        spec = {**images, "controllerRef": {"name": controller}, "replicas": 0}
        await stage.create(NODE_SETS, name, spec)

    async def owned(resource: Resource, name: str) -> bool:
        found = await stage.get(resource, name)
        references = found["metadata"].get("ownerReferences", ()) if found else ()
        return {each["name"] for each in references} == {"gpu", "cpu"}

    await until(partial(owned, SERVICES, "slurm-workers-slurm"))
    await until(partial(owned, POD_DISRUPTION_BUDGETS, "slurm-workers-pdb-slurm"))


async def test_scale_in_waits_for_the_running_job(stage: Stage) -> None:
    await stage.cluster()
    await stage.nodeset(2)
    await stage.there("gpu-0", "gpu-1")
    await stage.run("gpu-0", "gpu-1")
    stage.slurm.says("gpu-1", "ALLOCATED")
    await stage.says("Ready", "True")
    await stage.change(replicas=1)

    await stage.says("Progressing", "True", "gpu-1: scale-in waits: it has running jobs")
    assert stage.slurm.drained("gpu-1")
    assert stage.slurm.reason("gpu-1") == "slurm-operator: pod gpu-1: it is being scaled in"
    assert set(await stage.pods()) == {"gpu-0", "gpu-1"}

    stage.slurm.says("gpu-1", "IDLE", "DRAIN", reason=stage.slurm.reason("gpu-1"))
    await stage.there("gpu-0")
    assert not stage.slurm.drained("gpu-0")


async def test_a_silent_slurm_costs_no_worker_and_stops_no_repair(stage: Stage) -> None:
    await stage.cluster()
    await stage.nodeset(2)
    await stage.there("gpu-0", "gpu-1")
    await stage.run("gpu-0", "gpu-1")
    await stage.says("Ready", "True")
    stage.slurm.silent = True
    await stage.says("Degraded", "True", "Slurm gives no answer")
    await stage.delete_pod("gpu-0")

    await stage.there("gpu-0", "gpu-1")
    await stage.change(replicas=1)
    await stage.there("gpu-1")


async def test_a_nodeset_goes_when_its_workers_are_drained(stage: Stage) -> None:
    await stage.cluster()
    await stage.nodeset(1)
    await stage.there("gpu-0")
    await stage.run("gpu-0")
    stage.slurm.says("gpu-0", "MIXED")
    await stage.says("Ready", "True")
    await stage.delete(NODE_SETS, "gpu")

    waiting = await stage.says("Progressing", "True", "deletion waits: it has running jobs")
    assert waiting["reason"] == "DeletionWaits"
    stage.slurm.says("gpu-0", "IDLE", "DRAIN", reason=stage.slurm.reason("gpu-0"))
    await stage.gone(NODE_SETS, "gpu")


async def test_a_person_may_force_the_deletion(stage: Stage) -> None:
    await stage.cluster(restapi=False)
    await stage.nodeset(1)
    await stage.there("gpu-0")
    await stage.run("gpu-0")
    await stage.says("Ready", "True")
    await stage.delete(NODE_SETS, "gpu")
    await stage.says("Progressing", "True", "Slurm has not answered recently")
    await stage.patch(NODE_SETS, "gpu", {"metadata": {"annotations": {marks.FORCE: "true"}}})

    await stage.gone(NODE_SETS, "gpu")


async def test_an_update_keeps_to_its_budget_and_survives_a_killed_operator(
    stage: Stage, operator: Operator
) -> None:
    names = ("gpu-0", "gpu-1", "gpu-2")
    await stage.cluster()
    await stage.nodeset(3, updateStrategy={"rollingUpdate": {"maxUnavailable": 1}})
    before = await stage.there(*names)
    await stage.run(*names)
    for name in names:
        stage.slurm.says(name, "ALLOCATED")
    await stage.says("Ready", "True")
    await stage.change(extraConf="Weight=5")
    await stage.says("Progressing", "True", "update waits: it has running jobs")
    [chosen] = [name for name in names if stage.slurm.drained(name)]

    await operator.kill()
    operator.start()
    await asyncio.sleep(3)
    assert [name for name in names if stage.slurm.drained(name)] == [chosen]
    stage.slurm.says(chosen, "IDLE", "DRAIN", reason=stage.slurm.reason(chosen))

    async def replaced() -> set[str]:
        after = await stage.pods()
        return {
            name for name, pod in after.items() if pod["metadata"]["uid"] != before[name]["metadata"]["uid"]
        }

    assert await until(replaced) == {chosen}
    await stage.says("Progressing", "True")
    assert await replaced() == {chosen}


async def test_an_administrators_drain_is_left_alone(stage: Stage) -> None:
    await stage.cluster()
    await stage.nodeset(1)
    await stage.there("gpu-0")
    await stage.run("gpu-0")
    stage.slurm.says("gpu-0", "IDLE", "DRAIN", reason="fan is loud")
    await stage.says("Ready", "True")
    await asyncio.sleep(3)

    assert stage.slurm.drained("gpu-0")
    assert stage.slurm.reason("gpu-0") == "fan is loud"


async def test_a_busy_worker_is_protected_and_says_so(stage: Stage) -> None:
    await stage.cluster()
    await stage.nodeset(1)
    await stage.there("gpu-0")
    await stage.run("gpu-0")
    stage.slurm.says("gpu-0", "MIXED")

    async def protected() -> bool:
        pod = (await stage.pods())["gpu-0"]
        said = {each["type"] for each in pod["status"]["conditions"]}
        return (
            "nodeset.slinky.slurm.net/pod-protect" in pod["metadata"]["labels"]
            and "SlurmNodeStateMixed" in said
        )

    await until(protected)


async def test_a_settled_nodeset_costs_no_write_also_after_a_restart(
    stage: Stage, operator: Operator
) -> None:
    await stage.cluster()
    await stage.nodeset(2)
    await stage.there("gpu-0", "gpu-1")
    await stage.run("gpu-0", "gpu-1")
    await stage.says("Ready", "True")
    await asyncio.sleep(8)
    stage.writes()
    await operator.kill()
    operator.start()
    await asyncio.sleep(8)

    assert stage.writes() == []


async def test_the_history_keeps_what_a_pod_has_and_as_much_as_the_limit_says(stage: Stage) -> None:
    await stage.cluster()
    await stage.nodeset(1, revisionHistoryLimit=1, updateStrategy={"type": "OnDelete"})
    await stage.there("gpu-0")
    await stage.history(1)
    await stage.change(extraConf="Weight=5")
    await stage.history(1, 2)
    await stage.change(extraConf="Weight=6")
    await stage.history(1, 2, 3)
    await stage.change(extraConf="Weight=7")
    await stage.history(1, 3, 4)

    await stage.change(extraConf="Weight=6")
    await stage.history(1, 4, 5)
