"""A cluster is taken down: its workers drain first, whatever is deleted in which order."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from typing import Any

import pytest

from slurmery.doors import marks
from slurmery.kube.meta import Resource
from slurmery.kube.resources import DEPLOYMENTS, PODS, SECRETS, SERVICES, STATEFUL_SETS
from slurmery.slinky.kinds import ACCOUNTINGS, CONTROLLERS, LOGIN_SETS, NODE_SETS, REST_APIS
from tests.controlplane.slinky_nodeset.stage import Slurm

from .scene import LOGIN, REF, SLURMCTLD, SLURMDBD, SLURMRESTD, Operator, Scene, until

WORKERS = {**REF, "slurmd": {"image": "slurmd"}, "replicas": 1}
SPECS: Mapping[Resource, Mapping[str, Any]] = {
    CONTROLLERS: SLURMCTLD,
    ACCOUNTINGS: SLURMDBD,
    REST_APIS: SLURMRESTD,
    LOGIN_SETS: LOGIN,
}
FORCED = {"metadata": {"annotations": {marks.FORCE: "true"}}}


@pytest.fixture
async def slurm() -> AsyncIterator[Slurm]:
    async with Slurm().listening() as slurm:
        yield slurm


async def cluster(scene: Scene) -> None:
    """All kinds of a cluster, and a worker that runs."""
    await scene.keys()
    await scene.secret("database", password="secret")
    await scene.create(ACCOUNTINGS, "db", SLURMDBD)
    await scene.create(CONTROLLERS, "slurm", {**SLURMCTLD, "accountingRef": {"name": "db"}})
    await scene.create(REST_APIS, "rest", SLURMRESTD)
    await scene.create(NODE_SETS, "gpu", WORKERS)
    await scene.exists(STATEFUL_SETS, "slurm-controller", "db-accounting")
    await scene.exists(DEPLOYMENTS, "rest-restapi")
    await scene.exists(PODS, "gpu-0")
    await scene.exists(SECRETS, "slurm-controller-keys")


async def gone(scene: Scene, resource: Resource, *names: str) -> None:
    async def look() -> bool:
        return not await scene.names(resource) & set(names)

    await until(look, seconds=60)


async def test_a_cluster_that_is_deleted_all_at_once_drains_before_it_goes(
    scene: Scene, slurm: Slurm
) -> None:
    operator = Operator(scene, slurm.url)
    await operator.start()
    await cluster(scene)
    slurm.says("gpu-0", "ALLOCATED")
    await scene.runs("gpu-0")
    # The order of `helm uninstall`: the Secrets go first.
    await scene.delete(SECRETS, "keys")
    for resource, name in (
        (ACCOUNTINGS, "db"),
        (CONTROLLERS, "slurm"),
        (NODE_SETS, "gpu"),
        (REST_APIS, "rest"),
    ):
        await scene.delete(resource, name)
    said = await scene.says(CONTROLLERS, "slurm", "Progressing", "True", "drained and gone: gpu.")
    assert said["reason"] == "Deleting"
    await scene.says(REST_APIS, "rest", "Progressing", "True", "until the NodeSets gpu are drained")
    await scene.says(ACCOUNTINGS, "db", "Progressing", "True", "jobs of the Controllers slurm are recorded")
    await operator.stop()
    await operator.start()

    async def drained() -> bool:
        return slurm.drained("gpu-0")

    await until(drained)
    await asyncio.sleep(6)
    await scene.exists(STATEFUL_SETS, "slurm-controller", "db-accounting")
    await scene.exists(DEPLOYMENTS, "rest-restapi")
    await scene.exists(PODS, "gpu-0")
    slurm.says("gpu-0", "IDLE", "DRAIN", reason=slurm.reason("gpu-0"))
    for resource, name in (
        (NODE_SETS, "gpu"),
        (CONTROLLERS, "slurm"),
        (REST_APIS, "rest"),
        (ACCOUNTINGS, "db"),
    ):
        await gone(scene, resource, name)
    await gone(scene, STATEFUL_SETS, "slurm-controller", "db-accounting")
    await operator.stop()


async def test_a_controller_says_which_nodesets_it_waits_for_and_goes_at_once_when_forced(
    scene: Scene, operator: Operator
) -> None:
    await scene.keys()
    await scene.create(CONTROLLERS, "slurm", SLURMCTLD)
    await scene.create(NODE_SETS, "gpu", {**WORKERS, "replicas": 0})
    await scene.exists(STATEFUL_SETS, "slurm-controller")
    await scene.delete(CONTROLLERS, "slurm")
    await scene.says(CONTROLLERS, "slurm", "Progressing", "True", "Delete gpu, too")
    await scene.exists(STATEFUL_SETS, "slurm-controller")
    await scene.patch(CONTROLLERS, "slurm", FORCED)
    await gone(scene, CONTROLLERS, "slurm")
    await gone(scene, STATEFUL_SETS, "slurm-controller")


async def test_what_foreground_deletion_takes_is_made_anew_while_the_controller_is_needed(
    scene: Scene, operator: Operator
) -> None:
    await scene.keys()
    await scene.create(CONTROLLERS, "slurm", SLURMCTLD)
    await scene.create(NODE_SETS, "gpu", {**WORKERS, "replicas": 0})
    await scene.exists(STATEFUL_SETS, "slurm-controller")
    scene.kubectl("delete", "controller", "slurm", "--cascade=foreground", "--wait=false")
    await scene.says(CONTROLLERS, "slurm", "Progressing", "True", "drained and gone")

    async def anew() -> bool:
        found = await scene.get(STATEFUL_SETS, "slurm-controller")
        return found is not None and "deletionTimestamp" not in found["metadata"]

    await until(anew)
    await scene.exists(SERVICES, "slurm-controller")
    await scene.delete(NODE_SETS, "gpu")
    await gone(scene, CONTROLLERS, "slurm")


async def test_a_restapi_without_workers_goes_at_once(scene: Scene, operator: Operator) -> None:
    await scene.keys()
    await scene.create(CONTROLLERS, "slurm", SLURMCTLD)
    await scene.create(REST_APIS, "rest", SLURMRESTD)
    await scene.exists(DEPLOYMENTS, "rest-restapi")
    await scene.delete(REST_APIS, "rest")
    await gone(scene, REST_APIS, "rest")


@pytest.mark.parametrize(
    ("owner", "name", "child_name"),
    [
        (CONTROLLERS, "slurm", "slurm-controller"),
        (ACCOUNTINGS, "db", "db-accounting"),
        (REST_APIS, "rest", "rest-restapi"),
        (LOGIN_SETS, "login", "login"),
    ],
)
@pytest.mark.usefixtures("operator")
async def test_what_is_being_deleted_gets_no_new_children(
    scene: Scene, owner: Resource, name: str, child_name: str
) -> None:
    await scene.keys()
    await scene.secret("database", password="secret")
    await scene.create(owner, name, SPECS[owner])
    await scene.exists(SERVICES, child_name)
    await scene.settled(0.5)
    await scene.patch(owner, name, {"metadata": {"finalizers": ["tests.example.org/held"]}})
    await scene.delete(owner, name)
    await scene.delete(SERVICES, child_name)
    await asyncio.sleep(1)
    assert child_name not in await scene.names(SERVICES)
    await scene.patch(owner, name, {"metadata": {"finalizers": None}})
