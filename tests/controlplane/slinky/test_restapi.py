"""RestApis on a real API server."""

from slurmery.kube.resources import DEPLOYMENTS, SERVICES
from slurmery.slinky import names
from slurmery.slinky.kinds import CONTROLLERS, REST_APIS

from .scene import JWT_KEY, SLURMCTLD, SLURMRESTD, Operator, Scene, all_owned_by


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
