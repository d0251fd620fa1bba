"""The rights that the chart gives are enough, and each of them is needed: a cluster's life under them."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any, Final

import pytest
import yaml

from dev import paths
from dev.controlplane import ControlPlane
from slurmery.admission.authority import Lives
from slurmery.admission.identity import Identity
from slurmery.admission.rotation import Rotation
from slurmery.api import nebius
from slurmery.api.crd import crd
from slurmery.kube import config
from slurmery.kube.client import Client
from slurmery.kube.errors import NotFoundError
from slurmery.kube.lease import Election
from slurmery.kube.meta import Key, Resource
from slurmery.kube.resources import (
    CONFIG_MAPS,
    CONTROLLER_REVISIONS,
    DEPLOYMENTS,
    JOBS,
    PERSISTENT_VOLUME_CLAIMS,
    POD_DISRUPTION_BUDGETS,
    PODS,
    SECRETS,
    SERVICE_MONITORS,
    SERVICES,
    STATEFUL_SETS,
    VALIDATING_WEBHOOKS,
)
from slurmery.kube.runtime import Listen, Runtime
from slurmery.nebius.door import Door as NebiusDoor
from slurmery.nebius.kinds import SLURM_CLUSTERS
from slurmery.slinky.door import Door as SlinkyDoor
from slurmery.slinky.kinds import ACCOUNTINGS, CONTROLLERS, LOGIN_SETS, NODE_SETS, REST_APIS, TOKENS
from tests.controlplane.charts.audit import ACCOUNT, NAMESPACE, WEBHOOK, asked, granted, instead, refused
from tests.controlplane.charts.conftest import apply
from tests.controlplane.slinky_nodeset.stage import Slurm
from tests.unit.charts.rendering import render

HOME = "clusters"
KEYS = {"slurmKeyRef": {"name": "keys", "key": "slurm.key"}, "jwtKeyRef": {"name": "keys", "key": "jwt.key"}}
SSSD = {"name": "keys", "key": "sssd.conf"}
CLAIM = {
    "metadata": {"name": "scratch"},
    "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
}
REF = {"controllerRef": {"name": "slurm"}}
CLUSTER: dict[Resource, dict[str, Any]] = {
    ACCOUNTINGS: {
        **KEYS,
        "slurmdbd": {"image": "slurmdbd"},
        "storageConfig": {"host": "mariadb", "passwordKeyRef": {"name": "keys", "key": "password"}},
    },
    CONTROLLERS: {
        **KEYS,
        "accountingRef": {"name": "slurm"},
        "slurmctld": {"image": "slurmctld"},
        "metrics": {"enabled": True, "serviceMonitor": {"enabled": True}},
    },
    REST_APIS: {**REF, "slurmrestd": {"image": "slurmrestd"}},
    LOGIN_SETS: {**REF, "login": {"image": "login"}, "sssdConfRef": SSSD},
    TOKENS: {"jwtKeyRef": KEYS["jwtKeyRef"], "username": "somebody"},
    NODE_SETS: {
        **REF,
        "slurmd": {"image": "slurmd"},
        "replicas": 2,
        "ssh": {"enabled": True, "sssdConfRef": SSSD},
        "volumeClaimTemplates": [CLAIM],
        "persistentVolumeClaimRetentionPolicy": {"whenScaled": "Delete"},
        "updateStrategy": {"type": "OnDelete"},
    },
}

APPLIED: Final = (
    CONFIG_MAPS, SECRETS, SERVICES, DEPLOYMENTS, STATEFUL_SETS, POD_DISRUPTION_BUDGETS, SERVICE_MONITORS
)  # fmt: skip
# Needed, and yet not seen in this life.
UNSEEN: Final = {
    # Server-side apply is a patch to the audit log, and a create as well to who decides on rights.
    *(("create", one.group, one.plural) for one in APPLIED),
    # The answer to a race: somebody else made the object first.
    *(("get", one.group, one.plural) for one in APPLIED),
    # An object in which a field has to change that cannot be changed is made anew.
    *(("delete", one.group, one.plural) for one in (DEPLOYMENTS, POD_DISRUPTION_BUDGETS)),
    # Asked for by an admission plugin that is off here: OwnerReferencesPermissionEnforcement.
    *(("update", one.group, f"{one.plural}/finalizers") for one in CLUSTER),
    # A claim that outlived its worker is looked at, and changes its owner with the retention policy.
    *((verb, "", "persistentvolumeclaims") for verb in ("get", "patch")),
    # An Event that comes again and again.
    ("patch", "events.k8s.io", "events"),
}


class World:
    """What the test does and sees, with an administrator's rights."""

    def __init__(self, client: Client, slurm: Slurm) -> None:
        self._client = client
        self._slurm = slurm

    async def cluster(self) -> None:
        data = dict.fromkeys(("slurm.key", "jwt.key", "password", "sssd.conf"), "a2V5")
        await self._client.create(SECRETS, {**_head(SECRETS, "keys"), "data": data})
        for resource, spec in CLUSTER.items():
            ref = (
                {"controllerRef": {"name": "slurm"}} if resource in {REST_APIS, LOGIN_SETS, NODE_SETS} else {}
            )
            await self._client.create(resource, {**_head(resource, "slurm"), "spec": {**spec, **ref}})

    async def change(self, resource: Resource, **spec: Any) -> None:
        await self._client.patch(resource, Key(HOME, "slurm"), {"spec": spec})

    async def delete(self, resource: Resource, name: str = "slurm") -> None:
        await self._client.delete(resource, Key(HOME, name), grace_seconds=0)

    async def there(self, resource: Resource, name: str) -> None:
        await until(lambda: self._get(resource, name))

    async def gone(self, resource: Resource, name: str) -> None:
        async def missing() -> bool:
            found = await self._get(resource, name)
            if found and resource == PODS and found["metadata"].get("deletionTimestamp"):
                # There is no kubelet to end it.
                with suppress(NotFoundError):
                    await self.delete(PODS, name)
            return found is None

        await until(missing)

    async def runs(self, pod: str) -> None:
        """Say of a pod that it is ready, as its kubelet would."""
        await self.there(PODS, pod)
        now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        ready = {"type": "Ready", "status": "True", "lastTransitionTime": now}
        status = {"phase": "Running", "conditions": [ready]}
        await self._client.patch(
            PODS, Key(HOME, pod), {"status": status}, kind="strategic", subresource="status"
        )

    async def labelled(self, pod: str, label: str) -> None:
        async def told() -> bool:
            found = await self._get(PODS, pod)
            return found is not None and label in found["metadata"]["labels"]

        await until(told)

    async def revisions(self, *numbers: int) -> None:
        async def counted() -> bool:
            found = (await self._client.list(CONTROLLER_REVISIONS, HOME)).items
            ours = [each for each in found if each["metadata"]["ownerReferences"][0]["kind"] == "NodeSet"]
            return sorted(each["revision"] for each in ours) == list(numbers)

        await until(counted)

    async def finalizer(self) -> None:
        async def held() -> bool:
            found = await self._get(NODE_SETS, "slurm")
            return found is not None and bool(found["metadata"].get("finalizers"))

        await until(held)

    async def _get(self, resource: Resource, name: str) -> dict[str, Any] | None:
        try:
            return await self._client.get(resource, Key(HOME, name))
        except NotFoundError:
            return None


@pytest.fixture
async def slurm() -> AsyncIterator[Slurm]:
    async with Slurm().listening() as slurm:
        yield slurm


async def test_the_operator_needs_all_that_it_may_do_and_no_more(plane: ControlPlane, slurm: Slurm) -> None:
    plane.kubectl("create", "namespace", HOME)
    # Without its account a pod is forbidden, whoever asks.
    plane.kubectl("wait", "serviceaccount/default", "--for=create", f"--namespace={HOME}", "--timeout=60s")
    door = SlinkyDoor(reach=lambda _: slurm.url)
    async with Client(config.load(plane.kubeconfig)) as client, operator(plane, door):
        world = World(client, slurm)
        await live(world, slurm)

    assert refused(plane.audit_log, ACCOUNT) == set()
    used = asked(plane.audit_log, ACCOUNT)
    allowed = granted(render("slurmery", {"namespaceOverride": NAMESPACE}), ACCOUNT)
    assert allowed - used - instead(used) - UNSEEN == set()
    assert allowed >= UNSEEN


async def live(world: World, slurm: Slurm) -> None:
    """A cluster from its beginning to its end."""
    await world.cluster()
    for name in ("slurm-controller", "slurm-accounting"):
        await world.there(STATEFUL_SETS, name)
    for name in ("slurm-restapi", "slurm"):
        await world.there(DEPLOYMENTS, name)
    await world.there(SERVICE_MONITORS, "slurm-controller")
    await world.there(SECRETS, "slurm-jwt-somebody")
    await world.runs("slurm-controller-0")
    await world.labelled("slurm-controller-0", "controller.slinky.slurm.net/active")
    for pod in ("slurm-0", "slurm-1"):
        slurm.says(pod, "ALLOCATED" if pod == "slurm-0" else "IDLE")
        await world.runs(pod)
    await world.labelled("slurm-0", "nodeset.slinky.slurm.net/pod-protect")
    await world.finalizer()

    await world.change(NODE_SETS, slurmd={"image": "other"}, revisionHistoryLimit=2)
    await world.revisions(1, 2)
    await world.change(NODE_SETS, slurmd={"image": "slurmd"})
    await world.revisions(2, 3)
    await world.change(NODE_SETS, revisionHistoryLimit=0, replicas=1, ssh=None)
    await world.gone(PODS, "slurm-1")
    await world.gone(PERSISTENT_VOLUME_CLAIMS, "scratch-slurm-1")
    await world.gone(CONFIG_MAPS, "slurm-ssh-config")

    await world.change(CONTROLLERS, extraConf="MinJobAge=2", metrics=None)
    await world.gone(SERVICE_MONITORS, "slurm-controller")
    await world.change(ACCOUNTINGS, external=True, externalConfig={"host": "elsewhere", "port": 6819})
    await world.gone(STATEFUL_SETS, "slurm-accounting")

    slurm.says("slurm-0", "IDLE")
    await world.delete(NODE_SETS)
    await world.gone(PODS, "slurm-0")
    await world.gone(NODE_SETS, "slurm")


async def test_the_operator_may_begin_a_soperator_cluster(plane: ControlPlane) -> None:
    plane.kubectl("create", "namespace", HOME)
    apply(plane, *(crd(kind) for kind in nebius.KINDS))
    names = [f"crd/{kind.place.plural}.{kind.place.group}" for kind in nebius.KINDS]
    plane.kubectl("wait", "--for=condition=Established", "--timeout=30s", *names)
    documents = yaml.safe_load_all((paths.ROOT / "tests/data/nebius/soperator-1.22.yaml").read_text())
    cluster = next(each for each in documents if each["kind"] == "SlurmCluster")
    cluster["metadata"]["namespace"] = HOME

    async with (
        Client(config.load(plane.kubeconfig)) as client,
        operator(plane, NebiusDoor()),
    ):
        await client.create(SLURM_CLUSTERS, cluster)

        async def begun() -> bool:
            """Nobody runs the Job that fills the jail, for which all else waits."""
            return bool((await client.list(JOBS, HOME)).items and (await client.list(SECRETS, HOME)).items)

        await until(begun)
        await asyncio.sleep(3)

    assert refused(plane.audit_log, ACCOUNT) == set()


async def test_the_webhook_keeps_its_certificates_with_its_own_rights(plane: ControlPlane) -> None:
    values = {"namespaceOverride": NAMESPACE, "webhook": {"namespaces": ["nowhere"]}}
    apply(plane, *(each for each in render("slurmery", values) if "Webhook" in each["kind"]))
    secret = Key(NAMESPACE, "slurmery-webhook-authority")
    kubeconfig = plane.user("webhook", WEBHOOK)

    async with Client(config.load(plane.kubeconfig)) as client, Client(config.load(kubeconfig)) as own:

        async def trusted() -> bool:
            found = await client.get(VALIDATING_WEBHOOKS, Key("", "slurmery-webhook"))
            return all(each["clientConfig"].get("caBundle") for each in found["webhooks"])

        keeping = asyncio.create_task(Rotation(own, secret, ("localhost",), Identity(), Lives()).run())
        await until(trusted)
        # Spoilt by somebody: it is made anew.
        await client.patch(SECRETS, secret, {"data": {"ca.key": ""}})

        async def mended() -> bool:
            return bool((await client.get(SECRETS, secret))["data"]["ca.key"])

        await until(mended)
        keeping.cancel()
        await asyncio.gather(keeping, return_exceptions=True)

    assert refused(plane.audit_log, WEBHOOK) == set()
    allowed = granted(render("slurmery", {"namespaceOverride": NAMESPACE}), WEBHOOK)
    used = asked(plane.audit_log, WEBHOOK)
    # What is only looked up is compared in tests/unit/charts.
    assert {right for right in allowed - used - instead(used) if right[0] != "get"} == set()


@asynccontextmanager
async def operator(plane: ControlPlane, door: SlinkyDoor | NebiusDoor) -> AsyncIterator[None]:
    """Our operator with the rights of its account, and with them alone."""
    cluster = config.load(plane.user("operator", ACCOUNT))
    election = Election(lambda: Client(cluster), Key(NAMESPACE, "slurm-operator"), "test")
    async with Client(cluster, fence=election.fence) as client:
        runtime = Runtime(client, "test", Listen())
        async with door.open(runtime):
            running = asyncio.create_task(runtime.run(election))
            try:
                yield
            finally:
                runtime.stop()
                await running


async def until(condition: Callable[[], Awaitable[object]], seconds: float = 60) -> None:
    async with asyncio.timeout(seconds):
        while not await condition():  # noqa: ASYNC110
            await asyncio.sleep(0.1)


def _head(resource: Resource, name: str) -> dict[str, Any]:
    metadata = {"name": name, "namespace": HOME}
    return {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": metadata}
