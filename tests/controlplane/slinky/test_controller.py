"""Controllers on a real API server."""

import asyncio
from typing import Any

from slurmery.kube.meta import Key
from slurmery.kube.resources import (
    CONFIG_MAPS,
    CUSTOM_RESOURCE_DEFINITIONS,
    POD_DISRUPTION_BUDGETS,
    PODS,
    SERVICE_MONITORS,
    SERVICES,
    STATEFUL_SETS,
)
from slurmery.slinky import names
from slurmery.slinky.kinds import ACCOUNTINGS, CONTROLLERS, NODE_SETS, REST_APIS
from slurmery.slinky.token import jwt
from tests.unit.slurm.restd import Restd, answer

from .scene import JWT_KEY, REF, SLURMCTLD, SLURMRESTD, Operator, Scene, all_owned_by, until

SERVICE_MONITOR_CRD: dict[str, Any] = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "servicemonitors.monitoring.coreos.com"},
    "spec": {
        "group": "monitoring.coreos.com",
        "scope": "Namespaced",
        "names": {"plural": "servicemonitors", "kind": "ServiceMonitor"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {
                    "openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
                },
            }
        ],
    },
}
HA = {"ha": {"enabled": True}, "persistence": {"existingClaim": "shared"}}


async def test_a_controller_gets_its_services_configuration_and_slurmctld(
    scene: Scene, operator: Operator
) -> None:
    await scene.keys()
    await scene.create(CONTROLLERS, "slurm", SLURMCTLD)
    services = await scene.exists(SERVICES, "slurm-controller", "slurm-controller-internal")
    configs = await scene.exists(CONFIG_MAPS, "slurm-config")
    workloads = await scene.exists(STATEFUL_SETS, "slurm-controller")
    assert all_owned_by([*services, *configs, *workloads], "Controller", "slurm")
    assert f"ClusterName={scene.namespace}_slurm" in configs[0]["data"]["slurm.conf"]
    await scene.says(CONTROLLERS, "slurm", "Degraded", "False")
    await scene.says(CONTROLLERS, "slurm", "Ready", "False", "0 of 1 slurmctld pods are ready.")


async def test_a_missing_secret_is_said_in_words_and_heals_when_it_appears(
    scene: Scene, operator: Operator
) -> None:
    await scene.create(CONTROLLERS, "slurm", SLURMCTLD)
    said = await scene.says(CONTROLLERS, "slurm", "Degraded", "True", "Secret keys with key slurm.key")
    assert said["reason"] == "SecretNotFound"
    assert said["observedGeneration"] == 1
    await scene.exists(SERVICES, "slurm-controller")
    assert await scene.names(STATEFUL_SETS) == set()
    await scene.keys()
    await scene.exists(STATEFUL_SETS, "slurm-controller")
    await scene.says(CONTROLLERS, "slurm", "Degraded", "False")


async def test_a_changed_key_rolls_slurmctld(scene: Scene, operator: Operator) -> None:
    await scene.keys()
    await scene.create(CONTROLLERS, "slurm", SLURMCTLD)
    [before] = await scene.exists(STATEFUL_SETS, "slurm-controller")
    await scene.secret("keys", slurm_key="another", jwt_key=JWT_KEY)

    await scene.rolls(STATEFUL_SETS, "slurm-controller", names.SLURM_KEY_HASH, before)


async def test_a_controller_is_ready_when_its_pod_is_and_few_writes_were_needed(
    scene: Scene, operator: Operator
) -> None:
    await scene.keys()
    await scene.create(CONTROLLERS, "slurm", SLURMCTLD)
    await scene.exists(PODS, "slurm-controller-0")
    await scene.runs("slurm-controller-0")
    await scene.says(CONTROLLERS, "slurm", "Ready", "True", "1 of 1")
    await scene.says(CONTROLLERS, "slurm", "Progressing", "False")
    await scene.settled()
    made = [(verb, what) for verb, what, _ in scene.all_writes() if what != "events"]
    assert made.count(("patch", "controllers")) <= 5
    assert len(made) <= 5 + 5


async def test_drift_is_repaired(scene: Scene, operator: Operator) -> None:
    await scene.keys()
    await scene.create(CONTROLLERS, "slurm", SLURMCTLD)
    [config] = await scene.exists(CONFIG_MAPS, "slurm-config")
    await scene.exists(STATEFUL_SETS, "slurm-controller")
    await scene.patch(CONFIG_MAPS, "slurm-config", {"data": {"slurm.conf": "ClusterName=vandal"}})
    await scene.delete(SERVICES, "slurm-controller")
    await scene.exists(SERVICES, "slurm-controller")

    async def repaired() -> bool:
        [now] = await scene.exists(CONFIG_MAPS, "slurm-config")
        return bool(now["data"] == config["data"])

    await until(repaired)


async def test_files_beside_slurm_conf_are_found_when_they_come_and_followed(
    scene: Scene, operator: Operator
) -> None:
    await scene.keys()
    spec = {**SLURMCTLD, "configFileRefs": [{"name": "files"}]}
    await scene.create(CONTROLLERS, "slurm", spec)
    await scene.says(CONTROLLERS, "slurm", "Degraded", "True", "ConfigMap files does not exist")
    await scene.config_map("files", {"gres.conf": "AutoDetect=off"})
    [before] = await scene.exists(STATEFUL_SETS, "slurm-controller")
    await scene.config_map("files", {"gres.conf": "AutoDetect=nvml"})
    await scene.rolls(STATEFUL_SETS, "slurm-controller", names.SLURM_CONFIG_HASH, before)


async def test_nodesets_become_part_of_the_configuration(scene: Scene, operator: Operator) -> None:
    await scene.keys()
    await scene.create(CONTROLLERS, "slurm", SLURMCTLD)
    await scene.exists(CONFIG_MAPS, "slurm-config")
    await scene.create(NODE_SETS, "gpu", {**REF, "partition": {"enabled": True}})
    await scene.slurm_conf("slurm", "PartitionName=gpu")


async def test_accounting_outside_of_kubernetes_is_used(scene: Scene, operator: Operator) -> None:
    await scene.keys()
    await scene.create(CONTROLLERS, "slurm", {**SLURMCTLD, "accountingRef": {"name": "outside"}})
    await scene.says(CONTROLLERS, "slurm", "Degraded", "True", "Accounting outside")
    external = {"external": True, "externalConfig": {"host": "dbd.example.org", "port": 7777}}
    await scene.create(ACCOUNTINGS, "outside", external)
    await scene.slurm_conf("slurm", "AccountingStorageHost=dbd.example.org", "AccountingStoragePort=7777")
    await scene.says(ACCOUNTINGS, "outside", "Ready", "True", "dbd.example.org:7777")
    assert "outside-accounting" not in await scene.names(STATEFUL_SETS)


async def test_the_active_one_of_several_slurmctld_is_labelled(scene: Scene, operator: Operator) -> None:
    await scene.keys()
    await scene.create(
        CONTROLLERS,
        "slurm",
        {**SLURMCTLD, **HA},
    )
    await scene.exists(POD_DISRUPTION_BUDGETS, "slurm-controller")
    await scene.exists(PODS, "slurm-controller-0", "slurm-controller-1")

    async def labelled() -> bool:
        pods = [await scene.get(PODS, f"slurm-controller-{number}") or {} for number in range(2)]
        return [pod["metadata"]["labels"].get(names.ACTIVE_LABEL) for pod in pods] == ["true", None]

    await until(labelled)


async def test_clients_are_led_to_whom_slurm_says_is_active_after_a_failover(scene: Scene) -> None:
    await scene.keys()
    await scene.create(CONTROLLERS, "slurm", {**SLURMCTLD, **HA})
    await scene.create(REST_APIS, "rest", SLURMRESTD)
    first, second = "slurm-controller-0", "slurm-controller-1"
    slurm = Restd()
    up = {"hostname": first, "responding": True}
    slurm.on("GET /slurm/v0.0.45/ping/", answer(pings=[up, {**up, "hostname": second}]))
    async with await asyncio.start_server(slurm.serve, "127.0.0.1", 0) as server:
        operator = Operator(scene, f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}")
        await operator.start()
        await scene.exists(PODS, first, second)
        for pod in (first, second):
            await scene.runs(pod)
        await scene.says(CONTROLLERS, "slurm", "Ready", "True", f"{first} is active, says Slurm.")
        down = {"hostname": first, "responding": False}
        slurm.on("GET /slurm/v0.0.45/ping/", answer(pings=[down, {**up, "hostname": second}]))
        await scene.says(CONTROLLERS, "slurm", "Ready", "True", f"{second} is active, says Slurm.")
        pods = [await scene.get(PODS, name) or {} for name in (first, second)]
        assert [pod["metadata"]["labels"].get(names.ACTIVE_LABEL) for pod in pods] == [None, "true"]
        await operator.stop()


async def test_a_service_monitor_appears_when_its_kind_does(scene: Scene, operator: Operator) -> None:
    await scene.keys()
    metrics = {"enabled": True, "serviceMonitor": {"enabled": True}}
    await scene.create(CONTROLLERS, "slurm", {**SLURMCTLD, "metrics": metrics})
    await scene.exists(STATEFUL_SETS, "slurm-controller")
    await scene.says(CONTROLLERS, "slurm", "Degraded", "False")
    await scene.client.create(CUSTOM_RESOURCE_DEFINITIONS, SERVICE_MONITOR_CRD)
    try:
        [found] = await scene.exists(SERVICE_MONITORS, "slurm-controller")
        assert all_owned_by([found], "Controller", "slurm")
        assert found["spec"]["endpoints"][0]["path"] == "/metrics/jobs"
    finally:
        await scene.client.delete(
            CUSTOM_RESOURCE_DEFINITIONS, Key("", SERVICE_MONITOR_CRD["metadata"]["name"])
        )


async def test_a_deleted_controller_takes_everything_with_it(scene: Scene, operator: Operator) -> None:
    await scene.keys()
    await scene.create(CONTROLLERS, "slurm", SLURMCTLD)
    await scene.exists(STATEFUL_SETS, "slurm-controller")
    await scene.exists(PODS, "slurm-controller-0")
    await scene.delete(CONTROLLERS, "slurm")

    async def gone() -> bool:
        left = [await scene.names(one) for one in (STATEFUL_SETS, SERVICES, CONFIG_MAPS, PODS)]
        return left == [set(), set(), {"kube-root-ca.crt"}, set()]

    await until(gone)


async def test_twenty_controllers_at_once_are_served(scene: Scene, operator: Operator) -> None:
    await scene.keys()
    clusters = [f"c{number}" for number in range(20)]
    for name in clusters:
        await scene.create(CONTROLLERS, name, SLURMCTLD)
    await scene.exists(STATEFUL_SETS, *(f"{name}-controller" for name in clusters))
    for name in clusters:
        await scene.says(CONTROLLERS, name, "Degraded", "False")


async def test_a_partition_without_its_nodeset_stays_while_slurm_cannot_be_asked(
    scene: Scene, operator: Operator
) -> None:
    await scene.keys()
    await scene.create(CONTROLLERS, "slurm", SLURMCTLD)
    await scene.create(NODE_SETS, "gpu", {**REF, "partition": {"enabled": True}})
    await scene.slurm_conf("slurm", "PartitionName=gpu")
    await scene.delete(NODE_SETS, "gpu")
    await scene.slurm_conf("slurm", "PartitionName=gpu", "State=DRAIN")


async def test_slurm_is_asked_where_there_is_a_restapi_with_tokens_of_the_clusters_key(scene: Scene) -> None:
    await scene.keys()
    await scene.create(CONTROLLERS, "slurm", SLURMCTLD)
    slurm = Restd()
    slurm.on("GET /slurm/v0.0.45/ping/", answer(pings=[]))
    async with await asyncio.start_server(slurm.serve, "127.0.0.1", 0) as server:
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        operator = Operator(scene, url)
        await operator.start()
        await scene.exists(STATEFUL_SETS, "slurm-controller")
        assert slurm.seen == []
        await scene.create(REST_APIS, "rest", SLURMRESTD)

        async def asked() -> bool:
            return "GET /slurm/v0.0.45/jobs/" in slurm.calls

        await until(asked)
        await operator.stop()
    token = slurm.seen[0].headers["X-SLURM-USER-TOKEN"]
    claims = jwt.verified(JWT_KEY.encode(), token)
    assert claims
    assert claims.user == "slurm"
