"""NodeSets of a SlurmCluster, with a real API server: nobody runs the pods, the tests say how they are."""

from typing import Any

from slurmery.kube.resources import (
    CONFIG_MAPS,
    PODS,
    ROLE_BINDINGS,
    ROLES,
    SERVICE_ACCOUNTS,
    SERVICES,
    STATEFUL_SETS,
)
from slurmery.nebius.kinds import NODE_SETS, POWER_STATES, SLURM_CLUSTERS
from tests.controlplane.nebius.conftest import Operator
from tests.controlplane.nebius.test_workers import drained, pod, registered, replicas, run, undrained
from tests.controlplane.slinky.scene import Scene, until
from tests.controlplane.slinky_nodeset.stage import Slurm
from tests.unit.nebius.clusters import changed, manifest


async def test_a_nodeset_gets_every_object_and_then_costs_nothing(
    scene: Scene, slurm: Slurm, operator: Operator
) -> None:
    await cluster(scene)
    await nodeset(scene, "cpu", 2)
    await scene.exists(STATEFUL_SETS, "cpu")
    await scene.exists(SERVICES, "borealis-nodeset-svc", "borealis-nodeset-cpu-svc")
    await scene.exists(CONFIG_MAPS, "borealis-nodeset-cpu-security-limits", "borealis-supervisord")
    await scene.exists(SERVICE_ACCOUNTS, "borealis-cpu-nodeset-sa")
    await scene.exists(ROLES, "borealis-cpu-nodeset-role")
    await scene.exists(ROLE_BINDINGS, "borealis-cpu-nodeset-role-binding")
    await scene.says(SLURM_CLUSTERS, "borealis", "NodeSetRefsResolved", "False", "gpu does not exist")
    await run(scene, slurm, "cpu-0", "cpu-1")
    await scene.says(NODE_SETS, "cpu", "PodsReady", "True", "2 of 2")
    found = await scene.get(NODE_SETS, "cpu")
    assert found is not None
    assert (found["status"]["phase"], found["status"]["replicas"]) == ("Ready", 2)
    assert "slurm.nebius.ai/nodeset=cpu" in found["status"]["labelSelector"]
    await scene.settled(3.0)
    await operator.stop()
    await operator.start()
    await scene.settled(3.0)
    assert scene.writes() == []


async def test_a_nodeset_shrinks_and_goes_only_where_no_job_runs(
    scene: Scene, slurm: Slurm, operator: Operator
) -> None:
    await cluster(scene)
    await nodeset(scene, "cpu", 3)
    await started(scene, slurm, "cpu-0", "cpu-1", "cpu-2")
    slurm.says("cpu-1", "ALLOCATED")
    await scene.patch(NODE_SETS, "cpu", {"spec": {"replicas": 1}})
    await replicas(scene, 2, "cpu")
    # Slurm would end the job if the node left its files.
    [files] = await scene.exists(CONFIG_MAPS, "borealis-slurm-configs")
    assert any("cpu-[0-" in text for text in files["data"].values())

    await scene.delete(NODE_SETS, "cpu")
    await drained(slurm, "cpu-0")
    await scene.says(NODE_SETS, "cpu", "PodsReady", "False", "cpu-1: deletion waits")
    slurm.says("cpu-1", "IDLE", "DRAIN", reason=slurm.reason("cpu-1"))
    await gone(scene, "cpu")


async def test_ephemeral_workers_have_the_numbers_that_are_powered_on(
    scene: Scene, slurm: Slurm, operator: Operator
) -> None:
    await cluster(scene)
    await nodeset(scene, "gpu", 4, ephemeralNodes=True, initialNumberEphemeralNodes=0)
    await scene.exists(POWER_STATES, "gpu")
    await power(scene, 1, 3)
    await started(scene, slurm, "gpu-1", "gpu-3")
    await scene.says(POWER_STATES, "gpu", "Ready", "True", "2 of 2")
    found = await pod(scene, "gpu-3")
    assert (found["spec"]["hostname"], found["spec"]["subdomain"]) == ("gpu-3", "borealis-nodeset-svc")

    slurm.says("gpu-1", "ALLOCATED")
    slurm.says("gpu-3", "IDLE", "POWERING_DOWN")
    await power(scene)
    await absent(scene, "gpu-3")
    await undrained(slurm, "gpu-3")
    await drained(slurm, "gpu-1")
    await scene.exists(PODS, "gpu-1")
    slurm.says("gpu-1", "IDLE", "DRAIN", reason=slurm.reason("gpu-1"))
    await absent(scene, "gpu-1")
    await undrained(slurm, "gpu-1")
    assert "gpu" not in await scene.names(STATEFUL_SETS)


async def test_a_nodeset_without_its_cluster_says_so(scene: Scene, operator: Operator) -> None:
    await nodeset(scene, "cpu", 1)
    await scene.says(NODE_SETS, "cpu", "Degraded", "True", "no SlurmCluster borealis")
    await cluster(scene)
    await scene.exists(STATEFUL_SETS, "cpu")


async def cluster(scene: Scene) -> None:
    spec = changed(manifest("5.0", "SlurmCluster"), {"maintenance": "skipPopulateJail"})["spec"]
    await scene.create(SLURM_CLUSTERS, "borealis", spec)


async def nodeset(scene: Scene, name: str, size: int, **changes: Any) -> None:
    given = manifest("5.0", "NodeSet")["spec"]
    spec = {
        "clusterName": "borealis",
        "replicas": size,
        "slurmd": {**given["slurmd"], "security": {}},
        "munge": given["munge"],
        **changes,
    }
    await scene.create(NODE_SETS, name, spec)


async def started(scene: Scene, slurm: Slurm, *names: str) -> None:
    await run(scene, slurm, *names)
    for name in names:
        await registered(scene, name)


async def power(scene: Scene, *ordinals: int) -> None:
    await scene.patch(POWER_STATES, "gpu", {"spec": {"activeNodes": list(ordinals)}})


async def absent(scene: Scene, name: str) -> None:
    async def look() -> bool:
        return await scene.get(PODS, name) is None

    await until(look)


async def gone(scene: Scene, name: str) -> None:
    async def look() -> bool:
        return await scene.get(NODE_SETS, name) is None

    await until(look)
