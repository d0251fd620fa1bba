"""SlurmClusters and what becomes of them, with a real API server and Kubernetes' own controllers."""

import asyncio
from typing import Any

from slurmery.kube.meta import Key
from slurmery.kube.resources import CONFIG_MAPS, DEPLOYMENTS, JOBS, PODS, SECRETS, SERVICES, STATEFUL_SETS
from slurmery.nebius.kinds import JAILED_CONFIGS, SLURM_CLUSTERS
from tests.controlplane.nebius.conftest import Operator
from tests.controlplane.slinky.scene import Scene, until
from tests.unit.nebius.clusters import changed, manifest


def orion(**changes: Any) -> dict[str, Any]:
    # Pods need a PriorityClass that exists, and this API server has none of its chart's. A NodePort is for
    # one Service only, and tests run side by side.
    plain = {
        "populateJail__priorityClass": None,
        "secrets__sshdKeysName": None,
        "slurmNodes__login__sshdServiceType": "LoadBalancer",
        "slurmNodes__login__sshdServiceNodePort": None,
    }
    given = changed(manifest("1.22", "SlurmCluster"), {**plain, **changes})
    return dict(given["spec"])


async def test_a_cluster_gets_every_object_and_then_costs_nothing(scene: Scene, operator: Operator) -> None:
    await scene.create(SLURM_CLUSTERS, "orion", orion(maintenance="skipPopulateJail"))
    await whole(scene)
    await scene.exists(CONFIG_MAPS, "orion-slurm-configs", "orion-ssh-root-keys")
    await scene.exists(SECRETS, "orion-munge", "orion-rest-jwt-key", "orion-sshd-keys")
    await scene.exists(JAILED_CONFIGS, "orion-slurm-configs")
    await scene.settled(3.0)
    key = (await scene.exists(SECRETS, "orion-munge"))[0]["data"]
    await operator.stop()
    await operator.start()
    await asyncio.sleep(3)
    assert scene.writes() == []
    assert (await scene.exists(SECRETS, "orion-munge"))[0]["data"] == key


async def test_nothing_starts_before_the_jail_is_filled_and_the_job_goes_when_it_is(
    scene: Scene, operator: Operator
) -> None:
    await scene.create(SLURM_CLUSTERS, "orion", orion())
    await scene.exists(JOBS, "orion-populate-jail")
    await scene.says(SLURM_CLUSTERS, "orion", "JailPopulated", "False", "fills the jail")
    await scene.says(SLURM_CLUSTERS, "orion", "ControllersAvailable", "False", "fills the jail")
    assert await scene.names(STATEFUL_SETS) == set()

    await finish(scene, "orion-populate-jail", "Succeeded")
    await whole(scene)
    await scene.says(SLURM_CLUSTERS, "orion", "JailPopulated", "True")

    async def gone() -> bool:
        return await scene.get(JOBS, "orion-populate-jail") is None

    await until(gone)
    await scene.settled(3.0)
    await operator.stop()
    await operator.start()
    await asyncio.sleep(3)
    assert scene.writes() == []


async def test_a_failed_filling_is_said_and_holds_nobody_else_up(scene: Scene, operator: Operator) -> None:
    await scene.create(SLURM_CLUSTERS, "orion", orion())
    await scene.exists(JOBS, "orion-populate-jail")
    await scene.patch(JOBS, "orion-populate-jail", {"spec": {"backoffLimit": 0}})
    await finish(scene, "orion-populate-jail", "Failed")
    await scene.says(SLURM_CLUSTERS, "orion", "Degraded", "True", "delete the Job")
    await scene.delete(SLURM_CLUSTERS, "orion")
    await scene.create(SLURM_CLUSTERS, "vega", orion(maintenance="skipPopulateJail"))
    await scene.exists(SERVICES, "vega-controller-svc")


async def test_maintenance_sends_every_pod_away_and_says_so(scene: Scene, operator: Operator) -> None:
    await scene.create(SLURM_CLUSTERS, "orion", orion(maintenance="skipPopulateJail"))
    await scene.exists(STATEFUL_SETS, "controller", "login")
    await scene.patch(SLURM_CLUSTERS, "orion", {"spec": {"maintenance": "downscale"}})

    async def asleep() -> bool:
        found = await scene.exists(STATEFUL_SETS, "controller", "login")
        return all(one["spec"]["replicas"] == 0 for one in found)

    await until(asleep)
    await scene.says(SLURM_CLUSTERS, "orion", "ControllersAvailable", "False", "maintenance")


async def test_what_is_missing_is_said_and_harms_one_component_alone(
    scene: Scene, operator: Operator
) -> None:
    await scene.create(SLURM_CLUSTERS, "orion", orion(maintenance="skipPopulateJail", sConfigController=None))
    words = "sConfigController is missing"
    await scene.says(SLURM_CLUSTERS, "orion", "SConfigControllerAvailable", "False", words)
    await scene.exists(STATEFUL_SETS, "controller", "worker", "login")
    assert "sconfigcontroller" not in await scene.names(DEPLOYMENTS)


async def whole(scene: Scene) -> None:
    """Wait for the objects that a cluster's pods are made of and found by."""
    await scene.exists(STATEFUL_SETS, "controller", "worker", "login", "orion-acct-db")
    await scene.exists(DEPLOYMENTS, "sconfigcontroller", "accounting", "rest", "slurm-exporter")
    daemons = ("controller", "worker", "login", "login-headless", "accounting", "rest")
    await scene.exists(SERVICES, *(f"orion-{daemon}-svc" for daemon in daemons))


async def finish(scene: Scene, job: str, phase: str) -> None:
    """Let the pod of a Job end, as its kubelet would; the Job's controller does the rest."""

    async def pods() -> set[str]:
        return {name for name in await scene.names(PODS) if name.startswith(job)}

    for name in await until(pods):
        status = {"phase": phase, "conditions": [{"type": "Ready", "status": "False"}]}
        await scene.client.patch(PODS, Key(scene.namespace, name), {"status": status}, subresource="status")
