"""Clusters that upstream's operator made: they go on, and no job is lost."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from dev.controlplane import ControlPlane
from slurmery.api import nebius
from slurmery.kube.meta import Key
from slurmery.kube.resources import JOBS, PERSISTENT_VOLUME_CLAIMS, PODS, SECRETS, SERVICES, STATEFUL_SETS
from slurmery.nebius.kinds import SLURM_CLUSTERS
from slurmery.nebius.sets import KRUISE, Api
from slurmery.nebius.worker import build as worker
from tests.controlplane.definitions import define
from tests.controlplane.nebius import kruise, upstream
from tests.controlplane.nebius.conftest import Operator
from tests.controlplane.nebius.test_slurmcluster import finish, orion
from tests.controlplane.slinky.scene import Scene, until
from tests.controlplane.slinky_nodeset.stage import Slurm
from tests.unit.nebius.clusters import cluster

WORKERS = 2
CLAIMS = worker.stateful_set(cluster(), WORKERS, {}).manifest["spec"]["volumeClaimTemplates"]


@pytest.fixture(scope="module")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """Kubernetes' own controllers are there, Kruise's are played."""
    with ControlPlane(tmp_path_factory.mktemp("takeover")) as plane:
        plane.start_controller_manager()
        asyncio.run(define(plane, nebius.KINDS))
        asyncio.run(kruise.install(plane))
        yield plane


@pytest.fixture
async def operator(scene: Scene, slurm: Slurm) -> AsyncIterator[Operator]:
    """The door, still closed."""
    operator = Operator(scene, slurm)
    yield operator
    await operator.stop()


class Before:
    """The namespace as upstream's operator left it, with jobs on every worker."""

    def __init__(self, sets: dict[str, Any], pods: dict[str, str]) -> None:
        self.sets = sets
        self.pods = pods
        self.kept: dict[tuple[str, str], Any] = {}


async def left(scene: Scene, slurm: Slurm) -> Before:
    sizes = {"slurmNodes__worker__size": WORKERS, "slurmNodes__login__size": 1}
    spec = orion(**sizes, slurmNodes__worker__priorityClass=None)
    await scene.create(SLURM_CLUSTERS, "orion", spec)
    owner = await scene.client.get(SLURM_CLUSTERS, Key(scene.namespace, "orion"))
    sets = await upstream.leave(scene.plane, owner, WORKERS, CLAIMS)
    await finish(scene, "orion-populate-jail", "Succeeded")
    for number in range(WORKERS):
        for claim in CLAIMS:
            await scene.create(
                PERSISTENT_VOLUME_CLAIMS, f"{claim['metadata']['name']}-worker-{number}", claim["spec"]
            )
    pods = {}
    for name, replicas in (("controller", 1), ("login", 1), ("worker", WORKERS)):
        await kruise.seen(scene, name, replicas, f"{name}-upstream")
        for number in range(replicas):
            pods[f"{name}-{number}"] = await kruise.pod(scene, sets[name], number, f"{name}-upstream")
            await scene.runs(f"{name}-{number}")
    for number in range(WORKERS):
        slurm.says(f"worker-{number}", "ALLOCATED")
    before = Before(sets, pods)
    before.kept = await kept(scene)
    return before


async def kept(scene: Scene) -> dict[tuple[str, str], Any]:
    """Keys, addresses and data: what others hold in their hands."""
    found: dict[tuple[str, str], Any] = {}
    for name in upstream.SECRET:
        secret = await scene.client.get(SECRETS, Key(scene.namespace, name))
        found["Secret", name] = (secret["metadata"]["uid"], secret["data"])
    for name in upstream.SERVICE:
        service = await scene.client.get(SERVICES, Key(scene.namespace, name))
        found["Service", name] = (service["metadata"]["uid"], service["spec"]["clusterIP"])
    for claim in (await scene.client.list(PERSISTENT_VOLUME_CLAIMS, scene.namespace)).items:
        if "-worker-" in claim["metadata"]["name"]:
            found["Claim", claim["metadata"]["name"]] = claim["metadata"]["uid"]
    return found


async def workers(scene: Scene) -> dict[str, dict[str, Any]]:
    names = [f"worker-{number}" for number in range(WORKERS)]
    return {name: await scene.client.get(PODS, Key(scene.namespace, name)) for name in names}


async def undisturbed(scene: Scene, before: Before) -> None:
    for name, pod in (await workers(scene)).items():
        assert pod["metadata"]["uid"] == before.pods[name]
        assert "deletionTimestamp" not in pod["metadata"]
    assert await kept(scene) == before.kept


async def test_with_openkruise_its_stateful_sets_are_kept_and_no_pod_of_a_job_goes(
    scene: Scene, slurm: Slurm, operator: Operator
) -> None:
    before = await left(scene, slurm)
    operator.sets = Api.KRUISE
    await operator.start()

    async def ours() -> bool:
        [found] = await scene.exists(KRUISE, "worker")
        return bool(found["spec"]["updateStrategy"] == {"type": "OnDelete"})

    await until(ours)
    # Kruise has seen the new template: these pods are old by now.
    await kruise.seen(scene, "worker", WORKERS, "worker-new")
    await scene.says(SLURM_CLUSTERS, "orion", "WorkersAvailable", "True", "update waits")
    await scene.settled(2.0)
    await undisturbed(scene, before)
    for name, made in before.sets.items():
        [found] = await scene.exists(KRUISE, name)
        assert found["metadata"]["uid"] == made["metadata"]["uid"]
    # Nothing of upstream's is left in what we write now.
    [found] = await scene.exists(KRUISE, "worker")
    assert "rollingUpdate" not in found["spec"]["updateStrategy"]
    assert not [note for note in found["spec"]["template"]["metadata"]["annotations"] if "apparmor" in note]


async def test_without_openkruise_kubernetes_adopts_the_pods_of_its_stateful_sets(
    scene: Scene, slurm: Slurm, operator: Operator
) -> None:
    before = await left(scene, slurm)
    await operator.start()

    async def adopted() -> bool:
        owners = {
            reference["apiVersion"]
            for pod in (await workers(scene)).values()
            for reference in pod["metadata"].get("ownerReferences", [{"apiVersion": ""}])
        }
        return owners == {"apps/v1"} and await scene.names(KRUISE) == set()

    await until(adopted)
    await scene.exists(STATEFUL_SETS, "controller", "login", "worker")
    await scene.says(SLURM_CLUSTERS, "orion", "WorkersAvailable", "True", "update waits")
    await scene.settled(2.0)
    await undisturbed(scene, before)


async def test_an_idle_worker_is_replaced_and_the_jail_is_not_filled_again(
    scene: Scene, slurm: Slurm, operator: Operator
) -> None:
    before = await left(scene, slurm)
    slurm.says("worker-1", "IDLE")
    await operator.start()
    await scene.says(SLURM_CLUSTERS, "orion", "JailPopulated", "True")

    async def renewed() -> bool:
        pod = await scene.get(PODS, "worker-1")
        return pod is not None and pod["metadata"]["uid"] != before.pods["worker-1"]

    await until(renewed)
    pod = await scene.client.get(PODS, Key(scene.namespace, "worker-0"))
    assert pod["metadata"]["uid"] == before.pods["worker-0"]
    jobs = [what for verb, resource, what in scene.all_writes() if (verb, resource) == ("create", "jobs")]
    assert jobs == []
    assert await scene.get(JOBS, "orion-populate-jail") is None
