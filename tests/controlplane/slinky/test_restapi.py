"""RestApis on a real API server."""

from slurmery.kube.resources import DEPLOYMENTS, SERVICES, STATEFUL_SETS
from slurmery.slinky import names
from slurmery.slinky.kinds import ACCOUNTINGS, CONTROLLERS, NODE_SETS, REST_APIS

from .scene import JWT_KEY, REF, SLURMCTLD, SLURMDBD, SLURMRESTD, Operator, Scene, all_owned_by


async def test_a_restapi_waits_for_its_controller_and_then_gets_slurmrestd(
    scene: Scene, operator: Operator
) -> None:
    await scene.keys()
    await scene.create(REST_APIS, "rest", SLURMRESTD)
    await scene.says(REST_APIS, "rest", "Degraded", "True", "Controller slurm")
    await scene.create(CONTROLLERS, "slurm", SLURMCTLD)
    found = [
        *await scene.exists(DEPLOYMENTS, "rest-restapi"),
        *await scene.exists(SERVICES, "rest-restapi"),
    ]
    assert all_owned_by(found, "RestApi", "rest")
    await scene.says(REST_APIS, "rest", "Degraded", "False")


async def test_slurmrestd_follows_slurm_conf_and_the_key(scene: Scene, operator: Operator) -> None:
    await scene.keys()
    await scene.create(CONTROLLERS, "slurm", SLURMCTLD)
    await scene.create(REST_APIS, "rest", SLURMRESTD)
    [first] = await scene.exists(DEPLOYMENTS, "rest-restapi")
    await scene.patch(CONTROLLERS, "slurm", {"spec": {"extraConf": "MinJobAge=2"}})
    await scene.rolls(DEPLOYMENTS, "rest-restapi", names.SLURM_CONFIG_HASH, first)
    [second] = await scene.exists(DEPLOYMENTS, "rest-restapi")
    await scene.secret("keys", slurm_key="another", jwt_key=JWT_KEY)
    await scene.rolls(DEPLOYMENTS, "rest-restapi", names.SLURM_KEY_HASH, second)


async def test_a_cluster_that_is_made_at_once_starts_each_daemon_once(
    scene: Scene, operator: Operator
) -> None:
    await scene.keys()
    await scene.secret("database", password="secret")
    await scene.create(CONTROLLERS, "slurm", {**SLURMCTLD, "accountingRef": {"name": "db"}})
    await scene.create(REST_APIS, "rest", SLURMRESTD)
    await scene.create(ACCOUNTINGS, "db", SLURMDBD)
    await scene.create(
        NODE_SETS, "gpu", {**REF, "slurmd": {"image": "slurmd"}, "partition": {"enabled": True}}
    )
    workloads = [
        *await scene.exists(STATEFUL_SETS, "slurm-controller", "db-accounting"),
        *await scene.exists(DEPLOYMENTS, "rest-restapi"),
    ]
    await scene.slurm_conf("slurm", "PartitionName=gpu", "AccountingStorageHost=db-accounting")
    await scene.settled()
    for workload in workloads:
        resource = STATEFUL_SETS if workload["kind"] == "StatefulSet" else DEPLOYMENTS
        [now] = await scene.exists(resource, workload["metadata"]["name"])
        assert now["spec"]["template"] == workload["spec"]["template"]
