"""Advanced StatefulSets of OpenKruise in place of Kubernetes' own; a control plane that nobody shares."""

import asyncio
from collections.abc import AsyncIterator, Iterator

import pytest

from dev.controlplane import ControlPlane
from slurmery.api import nebius
from slurmery.kube.meta import Key
from slurmery.kube.resources import PODS, STATEFUL_SETS
from slurmery.nebius.kinds import NODE_SETS, SLURM_CLUSTERS
from slurmery.nebius.sets import KRUISE, Api
from tests.controlplane.definitions import define
from tests.controlplane.nebius import kruise
from tests.controlplane.nebius.conftest import Operator
from tests.controlplane.nebius.test_nodesets import cluster, nodeset
from tests.controlplane.nebius.test_slurmcluster import orion
from tests.controlplane.slinky.scene import Scene, owner_of, until
from tests.controlplane.slinky_nodeset.stage import Slurm
from tests.unit.nebius.clusters import changed, manifest


@pytest.fixture(scope="module")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    with ControlPlane(tmp_path_factory.mktemp("kruise")) as plane:
        plane.start_controller_manager()
        asyncio.run(define(plane, nebius.KINDS))
        yield plane


@pytest.fixture
async def operator(scene: Scene, slurm: Slurm) -> AsyncIterator[Operator]:
    """The door, told to use OpenKruise."""
    operator = Operator(scene, slurm)
    operator.sets = Api.KRUISE
    await operator.start()
    yield operator
    await operator.stop()


async def test_without_openkruise_a_condition_says_what_to_do_and_nothing_is_made_instead(
    scene: Scene, operator: Operator
) -> None:
    await scene.create(SLURM_CLUSTERS, "orion", orion(maintenance="skipPopulateJail"))
    words = "install OpenKruise"
    await scene.says(SLURM_CLUSTERS, "orion", "Degraded", "True", words)
    await scene.says(SLURM_CLUSTERS, "orion", "WorkersAvailable", "False", words)
    await scene.says(SLURM_CLUSTERS, "orion", "ControllersAvailable", "False", words)
    assert await scene.names(STATEFUL_SETS) <= {"orion-acct-db"}

    await kruise.install(scene.plane)
    try:
        await scene.exists(KRUISE, "controller", "login", "worker")
        await scene.says(SLURM_CLUSTERS, "orion", "Degraded", "False")
    finally:
        await kruise.remove(scene.plane)


async def test_daemons_run_in_advanced_stateful_sets_and_workers_are_left_to_us(
    scene: Scene, operator: Operator
) -> None:
    await kruise.install(scene.plane)
    await scene.create(SLURM_CLUSTERS, "orion", orion(maintenance="skipPopulateJail"))
    worker, controller, login = await scene.exists(KRUISE, "worker", "controller", "login")
    assert owner_of(worker) == ("SlurmCluster", "orion")
    assert worker["spec"]["updateStrategy"] == {"type": "OnDelete"}
    assert controller["spec"]["updateStrategy"]["rollingUpdate"]["podUpdatePolicy"] == "InPlaceIfPossible"
    assert login["spec"]["updateStrategy"]["rollingUpdate"]["podUpdatePolicy"] == "ReCreate"
    assert await scene.names(STATEFUL_SETS) <= {"orion-acct-db"}

    size = worker["spec"]["replicas"]
    await kruise.seen(scene, "worker", size, "worker-1")
    await scene.says(SLURM_CLUSTERS, "orion", "WorkersAvailable", "True", f"{size} of {size}")
    await scene.settled(2.0)
    await operator.stop()
    await operator.start()
    await asyncio.sleep(3)
    assert scene.writes() == []


async def test_a_worker_of_kruise_is_replaced_only_when_its_job_has_ended(
    scene: Scene, slurm: Slurm, operator: Operator
) -> None:
    await kruise.install(scene.plane)
    await scene.create(
        SLURM_CLUSTERS, "orion", orion(maintenance="skipPopulateJail", slurmNodes__worker__size=1)
    )
    [worker] = await scene.exists(KRUISE, "worker")
    await kruise.seen(scene, "worker", 1, "worker-1")
    before = await kruise.pod(scene, worker, 0, "worker-1")
    await scene.runs("worker-0")
    slurm.says("worker-0", "ALLOCATED")
    await scene.says(SLURM_CLUSTERS, "orion", "WorkersAvailable", "True")
    await kruise.seen(scene, "worker", 1, "worker-2")
    await scene.says(SLURM_CLUSTERS, "orion", "WorkersAvailable", "True", "worker-0: update waits")
    found = await scene.get(PODS, "worker-0")
    assert found
    assert found["metadata"]["uid"] == before

    slurm.says("worker-0", "IDLE", "DRAIN", reason=slurm.reason("worker-0"))

    async def gone() -> bool:
        found = await scene.get(PODS, "worker-0")
        return found is None or "deletionTimestamp" in found["metadata"]

    await until(gone)


async def test_nodesets_have_advanced_stateful_sets_too(scene: Scene, operator: Operator) -> None:
    await kruise.install(scene.plane)
    spec = changed(manifest("5.0", "SlurmCluster"), {"maintenance": "skipPopulateJail"})["spec"]
    await scene.create(SLURM_CLUSTERS, "orion", spec)
    given = changed(manifest("5.0", "NodeSet"), {"clusterName": "orion", "ephemeralNodes": False})
    await scene.create(NODE_SETS, "gpu", given["spec"])
    [found] = await scene.exists(KRUISE, "gpu")
    assert found["spec"]["updateStrategy"] == {"type": "OnDelete"}
    assert found["metadata"]["annotations"]["kruise.io/preferred-persistent-topology"]
    assert found["spec"]["scaleStrategy"] == {"maxUnavailable": given["spec"].get("maxUnavailable", "20%")}


async def test_a_nodeset_changes_to_kubernetes_own_when_that_is_alive(
    scene: Scene, operator: Operator
) -> None:
    await kruise.install(scene.plane)
    await cluster(scene)
    await nodeset(scene, "cpu", 2)
    await scene.exists(KRUISE, "cpu")
    await scene.settled(2.0)
    await operator.stop()
    operator.sets = Api.NATIVE
    await operator.start()
    await scene.exists(STATEFUL_SETS, "cpu")

    async def gone() -> bool:
        return await scene.get(KRUISE, "cpu") is None

    await until(gone)


async def test_pods_are_handed_over_when_the_api_changes(
    scene: Scene, slurm: Slurm, operator: Operator
) -> None:
    await kruise.install(scene.plane)
    await scene.create(
        SLURM_CLUSTERS, "orion", orion(maintenance="skipPopulateJail", slurmNodes__worker__size=2)
    )
    [worker] = await scene.exists(KRUISE, "worker")
    await kruise.seen(scene, "worker", 2, "worker-1")
    before = {number: await kruise.pod(scene, worker, number, "worker-1") for number in range(2)}
    for number in before:
        await scene.runs(f"worker-{number}")
        slurm.says(f"worker-{number}", "ALLOCATED")
    await scene.settled(2.0)
    await operator.stop()
    operator.sets = Api.NATIVE
    await operator.start()

    async def handed_over() -> bool:
        pods = [await scene.client.get(PODS, Key(scene.namespace, f"worker-{number}")) for number in before]
        owners = {each["metadata"].get("ownerReferences", [{}])[0].get("apiVersion") for each in pods}
        return owners == {"apps/v1"} and await scene.get(KRUISE, "worker") is None

    await until(handed_over)
    for number, uid in before.items():
        found = await scene.client.get(PODS, Key(scene.namespace, f"worker-{number}"))
        assert found["metadata"]["uid"] == uid
        assert "deletionTimestamp" not in found["metadata"]
