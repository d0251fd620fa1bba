"""New keys, while jobs run."""

import asyncio

from slurmery.kube.resources import DEPLOYMENTS, PODS, STATEFUL_SETS
from slurmery.slinky import names
from slurmery.slinky.kinds import ACCOUNTINGS, CONTROLLERS, NODE_SETS, REST_APIS
from tests.controlplane.slinky_nodeset.stage import Slurm

from .scene import JWT_KEY, REF, SLURMCTLD, SLURMDBD, SLURMRESTD, Operator, Scene, template_annotations, until


async def test_a_new_slurm_key_waits_for_running_jobs_and_then_slurmctld_takes_it_first(scene: Scene) -> None:
    async with Slurm().listening() as slurm:
        operator = Operator(scene, slurm.url)
        await operator.start()
        await scene.keys()
        await scene.secret("database", password="secret")
        await scene.create(ACCOUNTINGS, "db", SLURMDBD)
        await scene.create(CONTROLLERS, "slurm", {**SLURMCTLD, "accountingRef": {"name": "db"}})
        await scene.create(REST_APIS, "rest", SLURMRESTD)
        await scene.create(NODE_SETS, "gpu", {**REF, "slurmd": {"image": "slurmd"}, "replicas": 1})
        await scene.exists(PODS, "gpu-0")
        before = await parts(scene)
        slurm.says("gpu-0", "ALLOCATED")
        await scene.runs("gpu-0")

        async def seen() -> bool:
            found = await scene.get(NODE_SETS, "gpu") or {}
            return bool(found["status"].get("slurmAllocated") == 1)

        await until(seen)
        await scene.secret("keys", slurm_key="another", jwt_key=JWT_KEY)
        await scene.says(CONTROLLERS, "slurm", "Progressing", "True", "there are jobs on gpu-0")
        await scene.says(ACCOUNTINGS, "db", "Progressing", "True", "after slurmctld of slurm")
        await asyncio.sleep(3)
        assert await parts(scene) == before
        slurm.says("gpu-0", "IDLE")
        for resource, name in (
            (STATEFUL_SETS, "slurm-controller"),
            (STATEFUL_SETS, "db-accounting"),
            (DEPLOYMENTS, "rest-restapi"),
        ):
            await scene.rolls(resource, name, names.SLURM_KEY_HASH, before[name])
        await operator.stop()


async def parts(scene: Scene) -> dict[str, dict[str, object]]:
    """The daemons, by what makes them restart."""
    found = [
        *await scene.exists(STATEFUL_SETS, "slurm-controller", "db-accounting"),
        *await scene.exists(DEPLOYMENTS, "rest-restapi"),
    ]
    return {
        each["metadata"]["name"]: {
            "spec": {"template": {"metadata": {"annotations": template_annotations(each)}}}
        }
        for each in found
    }
