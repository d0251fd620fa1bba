"""The rights of what runs beside the operator are enough, and each of them is needed."""

import asyncio
import base64
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

import pytest

from dev.controlplane import ControlPlane
from slurmery.agents.jail.program import Writer
from slurmery.agents.jail.reconfiguration import Pace
from slurmery.agents.power.power import Power
from slurmery.agents.rebooter.host import Rehearsal
from slurmery.agents.rebooter.program import Rebooter
from slurmery.api import nebius, slinky
from slurmery.health.active.program import Settings
from slurmery.health.active.program import wire as wire_active
from slurmery.health.active.reconcile import ACTIVE_CHECKS, FINALIZER
from slurmery.health.repair import policy as names
from slurmery.health.repair.policy import Policy
from slurmery.health.repair.program import Repair
from slurmery.health.world import world
from slurmery.kube import config
from slurmery.kube.client import Client
from slurmery.kube.errors import NotFoundError
from slurmery.kube.lease import Election
from slurmery.kube.meta import Key, Resource
from slurmery.kube.resources import (
    CONFIG_MAPS,
    CRON_JOBS,
    JOBS,
    NAMESPACES,
    POD_TEMPLATES,
    PODS,
    ROLE_BINDINGS,
    ROLES,
    SECRETS,
    SERVICE_ACCOUNTS,
)
from slurmery.kube.runtime import Listen, Runtime
from slurmery.nebius.controller import build as controller
from slurmery.nebius.kinds import JAILED_CONFIGS, POWER_STATES, SLURM_CLUSTERS
from slurmery.nebius.sconfigcontroller import build as sconfigcontroller
from tests.controlplane.charts.audit import Right, asked, granted, instead, refused
from tests.controlplane.charts.conftest import apply
from tests.controlplane.definitions import define
from tests.controlplane.health.stage import CLUSTER, INTERVALS, Slurm, Stage
from tests.controlplane.slinky_nodeset.stage import until
from tests.unit.charts.rendering import NAMESPACE, Object, render
from tests.unit.nebius.clusters import cluster, nodeset

HOME: Final = "clusters"
NOWHERE: Final = "http://127.0.0.1:1"
APPLIED: Final = (CRON_JOBS, ROLE_BINDINGS, ROLES, SERVICE_ACCOUNTS)
# Needed, and yet not seen in these lives.
UNSEEN: Final[dict[str, set[Right]]] = {
    "soperatorchecks": {
        # Server-side apply is a patch to the audit log, and a create as well to who decides on rights; to get
        # is the answer to a race.
        *((verb, one.group, one.plural) for one in APPLIED for verb in ("create", "get")),
        # Asked for by an admission plugin that is off here: OwnerReferencesPermissionEnforcement.
        ("update", "slurm.nebius.ai", "activechecks/finalizers"),
        # Given on to the pods of checks.
        ("get", "", "pods"),
        ("get", "batch", "jobs"),
        ("patch", "batch", "jobs"),
        # Asked of kubelets, and by them of the API server.
        ("get", "", "nodes/stats"),
        # An Event that comes again and again.
        ("patch", "events.k8s.io", "events"),
    },
    "nodeconfigurator": {("patch", "events.k8s.io", "events")},
    "sconfigcontroller": {("patch", "events.k8s.io", "events")},
    "power-manager": set(),
}


class Machine:
    """One that has run since long ago, and that nobody restarts."""

    def booted(self) -> float:
        return time.time() - 86_400

    async def reboot(self) -> None:
        raise AssertionError("the machine of the tests must not be restarted")


@pytest.fixture
async def slurm() -> AsyncIterator[Slurm]:
    async with Slurm().listening() as slurm:
        yield slurm


@pytest.fixture
async def stage(private_plane: ControlPlane, slurm: Slurm) -> AsyncIterator[Stage[Slurm]]:
    """An API server with our kinds and one SlurmCluster, and nobody with any rights."""
    await define(private_plane, (*nebius.KINDS, *slinky.KINDS))
    async with Client(config.load(private_plane.kubeconfig)) as client:
        for name in (HOME, NAMESPACE):
            await client.create(NAMESPACES, _object(NAMESPACES, name, ""))
        await client.create(SERVICE_ACCOUNTS, _object(SERVICE_ACCOUNTS, "default"))
        stage = Stage(private_plane, client, HOME, slurm)
        await stage.cluster()
        yield stage


async def test_the_checks_need_all_that_they_may_do_and_no_more(stage: Stage[Slurm]) -> None:
    objects = rights(stage, "soperatorchecks")
    lease = Key(NAMESPACE, "a22156dp.nebius.ai")

    async with program(stage, f"{NAMESPACE}:soperatorchecks") as runtime:
        around = world(runtime, reach=lambda _: stage.slurm.url, intervals=INTERVALS)
        around.slurms.wire()
        Repair(Policy()).wire(runtime, around)
        wire_active(runtime, Settings(every=1.0), reach=lambda _: NOWHERE)
        running = asyncio.create_task(runtime.run(election(stage, f"{NAMESPACE}:soperatorchecks", lease)))
        await check(stage)
        await repair(stage)
        runtime.stop()
        await running
        await around.slurms.close()

    needed(stage, objects, f"{NAMESPACE}:soperatorchecks", "soperatorchecks")


async def check(stage: Stage[Slurm]) -> None:
    """A check that is a pod, one that is a job in Slurm, and one that upstream held."""
    cluster_key = Key(HOME, CLUSTER)
    await stage.client.patch(
        SLURM_CLUSTERS, cluster_key, {"status": {"phase": "Available"}}, subresource="status"
    )
    template = {"spec": {"restartPolicy": "Never", "containers": [{"name": "pod", "image": "check"}]}}
    await stage.client.create(POD_TEMPLATES, {**_object(POD_TEMPLATES, "given"), "template": template})
    script = {"sbatch.sh": "#!/bin/sh\ntrue\n"}
    await stage.client.create(CONFIG_MAPS, {**_object(CONFIG_MAPS, "script"), "data": script})
    pod = {
        "podTemplateNameRef": "given",
        "k8sJobSpec": {"jobContainer": {"image": "check", "command": ["true"]}},
    }
    job = {"checkType": "slurmJob", "slurmJobSpec": {"sbatchScriptRefName": "script"}}
    for name, spec in (("pod", pod), ("job", job), ("held", job)):
        whole = {"name": name, "slurmClusterRefName": CLUSTER, **spec}
        await stage.client.create(ACTIVE_CHECKS, {**_object(ACTIVE_CHECKS, name), "spec": whole})
    held = Key(HOME, "held")
    await stage.client.patch(ACTIVE_CHECKS, held, {"metadata": {"finalizers": [FINALIZER]}})
    await stage.client.delete(ACTIVE_CHECKS, held)

    await until(lambda: there(stage, JOBS, "pod-initial-run"))
    await until(lambda: there(stage, CRON_JOBS, "pod"))
    await until(lambda: gone(stage, ACTIVE_CHECKS, "held"))

    async def begun() -> bool:
        found = await stage.client.get(ACTIVE_CHECKS, Key(HOME, "job"))
        return "slurmJobsStatus" in found.get("status", {})

    await until(begun)


async def repair(stage: Stage[Slurm]) -> None:
    """A node is replaced."""
    await stage.node(0)
    await stage.say(0, "MaintenanceScheduled", "True")
    await stage.drained("worker-0", names.REPLACEMENT_REASON)
    await stage.says(0, names.DRAIN, "True", names.NEED_DRAIN)
    await stage.evict("worker-0")
    await stage.say(0, names.DRAIN, "True", names.DRAINED)
    await stage.gone(0)


async def test_the_rebooter_needs_all_that_it_may_do_and_no_more(stage: Stage[Slurm]) -> None:
    objects = rights(stage, "nodeconfigurator")
    node = await stage.node(0)

    async with program(stage, f"{NAMESPACE}:nodeconfigurator") as runtime:
        Rebooter(node, Rehearsal(Machine()), 600).wire(runtime)
        running = asyncio.create_task(runtime.run())
        await stage.say(0, names.REBOOT, "True", names.NEED_REBOOT)

        async def leaving() -> bool:
            found = await stage.client.get(PODS, Key(HOME, "worker-0"))
            return "deletionTimestamp" in found["metadata"]

        await until(leaving)
        await stage.evict("worker-0")
        await stage.says(0, names.REBOOT, "True", names.REBOOTED)
        runtime.stop()
        await running

    needed(stage, objects, f"{NAMESPACE}:nodeconfigurator", "nodeconfigurator")


async def test_sconfigcontroller_needs_all_that_it_may_do_and_no_more(
    stage: Stage[Slurm], tmp_path: Path
) -> None:
    made = cluster(sConfigController__serviceAccountName="writer")
    objects = [_here(each.manifest) for each in sconfigcontroller.access(made)]
    apply(stage.plane, *objects)
    data = {"rest_jwt.key": base64.b64encode(b"key").decode()}
    secret = _object(SECRETS, made.names.rest_jwt_key)
    await stage.client.create(SECRETS, {**secret, "data": data})
    await stage.client.create(CONFIG_MAPS, {**_object(CONFIG_MAPS, "files"), "data": {"conf": "text"}})
    spec = {
        "configMap": {"name": "files"},
        "items": [{"key": "conf", "path": "/etc/slurm/a.conf"}],
        "updateActions": ["Reconfigure"],
    }
    await stage.client.create(JAILED_CONFIGS, {**_object(JAILED_CONFIGS, "files"), "spec": spec})
    lease = Key(HOME, "vqeyz6ae.nebius.ai")

    async with program(stage, f"{HOME}:writer") as runtime:
        Writer(HOME, made.name, tmp_path, stage.slurm.url, Pace(settle=0, poll=0.1, limit=1)).wire(runtime)
        running = asyncio.create_task(runtime.run(election(stage, f"{HOME}:writer", lease)))

        async def written() -> bool:
            return (tmp_path / "etc/slurm/a.conf").exists()

        async def told() -> bool:
            found = await stage.client.get(JAILED_CONFIGS, Key(HOME, "files"))
            conditions = {
                each["type"]: each["status"] for each in found.get("status", {}).get("conditions", ())
            }
            return conditions == {"FilesWritten": "True", "UpdateActionsCompleted": "True"}

        await until(written)
        await until(told)
        runtime.stop()
        await running

    needed(stage, objects, f"{HOME}:writer", "sconfigcontroller")


async def test_the_power_manager_needs_all_that_it_may_do_and_no_more(stage: Stage[Slurm]) -> None:
    workers = (nodeset("gpu", ephemeralNodes=True), nodeset("static"))
    made = cluster("5.0", workers, slurmNodes__controller__serviceAccountName=None)
    objects = [_here(each.manifest) for each in controller.access(made)]
    apply(stage.plane, *objects)
    spec = {"nodeSetRef": "gpu", "activeNodes": []}
    await stage.client.create(POWER_STATES, {**_object(POWER_STATES, "gpu"), "spec": spec})
    nodes = {"gpu": frozenset({1, 3})}
    account = f"{HOME}:{made.names.power_account}"

    async with Client(config.load(stage.plane.user("power", f"system:serviceaccount:{account}"))) as client:
        power = Power(client, HOME)
        await power.resume(nodes)
        states = {str(each): {"phase": "Running"} for each in (1, 3)}
        running = {"status": {"activeCount": 2, "nodeStates": states}}
        await stage.client.patch(POWER_STATES, Key(HOME, "gpu"), running, subresource="status")
        await power.wait_added(nodes)
        await power.suspend({"gpu": frozenset({3})})

    found = await stage.client.get(POWER_STATES, Key(HOME, "gpu"))
    assert found["spec"]["activeNodes"] == [1]
    needed(stage, objects, account, "power-manager")


def rights(stage: Stage[Slurm], chart: str) -> list[Object]:
    """What a chart makes of accounts and roles, which are there from now on."""
    objects = [each for each in render(chart) if "Role" in each["kind"]]
    apply(stage.plane, *objects)
    return objects


def needed(stage: Stage[Slurm], objects: list[Object], account: str, program: str) -> None:
    """Nothing was refused, and nothing was given that was not used."""
    user = f"system:serviceaccount:{account}"
    assert refused(stage.plane.audit_log, user) == set()
    used, allowed = asked(stage.plane.audit_log, user), granted(objects, user)
    assert allowed - used - instead(used) - UNSEEN[program] == set()
    assert allowed >= UNSEEN[program]


@asynccontextmanager
async def program(stage: Stage[Slurm], account: str) -> AsyncIterator[Runtime]:
    """A runtime with the rights of an account, and with them alone."""
    kubeconfig = stage.plane.user("program", f"system:serviceaccount:{account}")
    async with Client(config.load(kubeconfig)) as client:
        yield Runtime(client, "test", Listen())


def election(stage: Stage[Slurm], account: str, lease: Key) -> Election:
    loaded = config.load(stage.plane.user("leader", f"system:serviceaccount:{account}"))
    return Election(lambda: Client(loaded), lease, "test")


async def there(stage: Stage[Slurm], resource: Resource, name: str) -> bool:
    try:
        await stage.client.get(resource, Key(HOME, name))
    except NotFoundError:
        return False
    return True


async def gone(stage: Stage[Slurm], resource: Resource, name: str) -> bool:
    return not await there(stage, resource, name)


def _object(resource: Resource, name: str, namespace: str = HOME) -> dict[str, Any]:
    metadata = {"name": name, "namespace": namespace} if namespace else {"name": name}
    return {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": metadata}


def _here(given: Mapping[str, Any]) -> dict[str, Any]:
    """An object of the operator's, in the namespace of the test."""
    moved = {**given, "metadata": {"name": given["metadata"]["name"], "namespace": HOME}}
    if "subjects" in given:
        moved["subjects"] = [{**each, "namespace": HOME} for each in given["subjects"]]
    return moved
