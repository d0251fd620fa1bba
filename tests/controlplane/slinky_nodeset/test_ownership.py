"""Whose the workers are, with Kubernetes' own garbage collector at work."""

from collections.abc import Iterator
from typing import Any

import pytest

from dev.controlplane import ControlPlane
from slurmery.kube.meta import Key, Resource
from slurmery.kube.resources import CONFIG_MAPS, CONTROLLER_REVISIONS, PODS, SERVICES
from slurmery.slinky.kinds import NODE_SETS

from .stage import Operator, Stage, until

pytestmark = pytest.mark.usefixtures("operator")


@pytest.fixture(scope="session")
def collected(plane: ControlPlane) -> Iterator[None]:
    plane.start_controller_manager()
    yield
    plane.stop("kube-controller-manager")


@pytest.fixture
async def busy(collected: None, stage: Stage, operator: Operator) -> dict[str, str]:
    """Two workers, the first with a job; the answer is their uids."""

    async def certificate() -> bool:
        return await stage.get(CONFIG_MAPS, "kube-root-ca.crt") is not None

    await until(certificate)
    await stage.client.create(CONFIG_MAPS, ownerless(stage.namespace))
    await until(lambda: absent(stage, CONFIG_MAPS, "ownerless"), seconds=90)
    await stage.cluster()
    await stage.nodeset(2, slurmd={"image": "slurmd", "env": [{"name": "RULE", "value": "<1 & 2>"}]})
    await stage.there("gpu-0", "gpu-1")
    await stage.run("gpu-0", "gpu-1")
    stage.slurm.says("gpu-0", "ALLOCATED")
    await stage.says("Ready", "True")
    await stage.history(1)
    return await uids(stage)


def ownerless(namespace: str) -> dict[str, Any]:
    """Collected as soon as the collector is awake."""
    gone = {"apiVersion": "v1", "kind": "ConfigMap", "name": "gone", "uid": "gone"}
    metadata = {"name": "ownerless", "namespace": namespace, "ownerReferences": [gone]}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}


async def absent(stage: Stage, resource: Resource, name: str) -> bool:
    return await stage.get(resource, name) is None


async def uids(stage: Stage) -> dict[str, str]:
    return {name: pod["metadata"]["uid"] for name, pod in (await stage.pods()).items()}


def owner(pod: Any) -> str | None:
    references = pod["metadata"].get("ownerReferences", ())
    return next((each["uid"] for each in references if each.get("controller")), None)


async def test_a_nodeset_deleted_in_the_foreground_waits_for_the_running_job(
    stage: Stage, busy: dict[str, str]
) -> None:
    await stage.client.delete(NODE_SETS, Key(stage.namespace, "gpu"), propagation="Foreground")

    await stage.there("gpu-0")
    await stage.says("Progressing", "True", "gpu-0: deletion waits: it has running jobs")
    assert (await uids(stage))["gpu-0"] == busy["gpu-0"]
    assert "deletionTimestamp" not in (await stage.pods())["gpu-0"]["metadata"]

    async def named() -> bool:
        service = await stage.get(SERVICES, "slurm-workers-slurm")
        return service is not None and "deletionTimestamp" not in service["metadata"]

    await until(named)  # other nodes of the job go on finding this one

    stage.slurm.says("gpu-0", "IDLE", "DRAIN", reason=stage.slurm.reason("gpu-0"))
    await stage.gone(NODE_SETS, "gpu")
    await stage.gone(PODS, "gpu-0")
    await stage.gone(SERVICES, "slurm-workers-slurm")


async def test_workers_outlive_a_nodeset_deleted_with_orphaning_and_are_adopted_by_the_next(
    stage: Stage, busy: dict[str, str]
) -> None:
    await stage.client.delete(NODE_SETS, Key(stage.namespace, "gpu"), propagation="Orphan")
    await stage.gone(NODE_SETS, "gpu")
    assert await uids(stage) == busy

    await stage.nodeset(2, slurmd={"image": "slurmd", "env": [{"name": "RULE", "value": "<1 & 2>"}]})

    async def adopted() -> bool:
        nodeset = await stage.get(NODE_SETS, "gpu")
        revisions = (await stage.client.list(CONTROLLER_REVISIONS, stage.namespace)).items
        found = {owner(each) for each in (*(await stage.pods()).values(), *revisions)}
        return nodeset is not None and found == {nodeset["metadata"]["uid"]}

    await until(adopted)
    await stage.says("Progressing", "False", "All slurmd pods are as the spec says")
    assert await uids(stage) == busy
    await stage.history(1)


async def test_a_worker_that_a_person_took_out_is_released(stage: Stage, busy: dict[str, str]) -> None:
    label = {"app.kubernetes.io/instance": "to-look-at"}
    await stage.patch(PODS, "gpu-1", {"metadata": {"labels": label}})

    async def released() -> bool:
        return owner((await stage.pods())["gpu-1"]) is None

    await until(released)
    assert await uids(stage) == busy
    # Its name is not free; all else goes on.
    await stage.change(replicas=4)
    await stage.there("gpu-0", "gpu-1", "gpu-2", "gpu-3")
    await stage.says("Degraded", "True", '"gpu-1" already exists')
