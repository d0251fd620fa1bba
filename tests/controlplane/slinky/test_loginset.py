"""LoginSets on a real API server."""

from slurmery.kube.meta import Key
from slurmery.kube.resources import CONFIG_MAPS, DEPLOYMENTS, SECRETS, SERVICES, STATEFUL_SETS
from slurmery.slinky import names
from slurmery.slinky.kinds import CONTROLLERS, LOGIN_SETS

from .scene import JWT_KEY, LOGIN, SLURMCTLD, Operator, Scene, all_owned_by, until


async def made(scene: Scene) -> None:
    await scene.keys()
    await scene.secret("sssd", sssd_conf="[sssd]")
    await scene.create(CONTROLLERS, "slurm", SLURMCTLD)
    await scene.create(LOGIN_SETS, "login", LOGIN)
    await scene.exists(DEPLOYMENTS, "login")


async def test_a_loginset_gets_its_pods_host_keys_and_service(scene: Scene, operator: Operator) -> None:
    await made(scene)
    found = [
        *await scene.exists(DEPLOYMENTS, "login"),
        *await scene.exists(SERVICES, "login"),
        *await scene.exists(SECRETS, "login-ssh-host-keys"),
        *await scene.exists(CONFIG_MAPS, "login-ssh-config"),
    ]
    assert all_owned_by(found, "LoginSet", "login")


async def test_host_keys_are_made_once(scene: Scene, operator: Operator) -> None:
    await made(scene)
    [keys] = await scene.exists(SECRETS, "login-ssh-host-keys")
    [before] = await scene.exists(DEPLOYMENTS, "login")
    await operator.stop()
    await operator.start()
    await scene.secret("sssd", sssd_conf="[sssd]\nservices = nss")
    await scene.rolls(DEPLOYMENTS, "login", names.SSSD_CONF_HASH, before)
    [after] = await scene.exists(SECRETS, "login-ssh-host-keys")
    assert after["metadata"]["resourceVersion"] == keys["metadata"]["resourceVersion"]


async def test_a_service_that_belongs_to_somebody_else_is_left_alone_and_said(
    scene: Scene, operator: Operator
) -> None:
    scene.kubectl("create", "service", "clusterip", "login", "--tcp=80")
    await made(scene)
    await scene.says(LOGIN_SETS, "login", "Degraded", "True", "Service")
    [service] = await scene.exists(SERVICES, "login")
    assert [port["port"] for port in service["spec"]["ports"]] == [80]


async def test_kubectl_scale_and_autoscalers_can_read_and_write_the_scale(
    scene: Scene, operator: Operator
) -> None:
    await made(scene)
    scene.kubectl("scale", "loginset/login", "--replicas=3")

    async def scaled() -> bool:
        key = Key(scene.namespace, "login")
        status = (await scene.client.get(LOGIN_SETS, key, subresource="scale"))["status"]
        selector = "app.kubernetes.io/instance=login,app.kubernetes.io/name=login"
        return bool(status == {"replicas": 3, "selector": selector})

    await until(scaled)


async def test_login_pods_follow_sssd_conf_and_the_key_of_their_cluster(
    scene: Scene, operator: Operator
) -> None:
    await made(scene)
    [first] = await scene.exists(DEPLOYMENTS, "login")
    await scene.secret("sssd", sssd_conf="[domain/hpc]")
    await scene.rolls(DEPLOYMENTS, "login", names.SSSD_CONF_HASH, first)
    [second] = await scene.exists(DEPLOYMENTS, "login")
    await scene.exists(STATEFUL_SETS, "slurm-controller")
    await scene.secret("keys", slurm_key="another", jwt_key=JWT_KEY)
    await scene.rolls(DEPLOYMENTS, "login", names.SLURM_KEY_HASH, second)
