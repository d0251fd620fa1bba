"""The workers of a NodeSet."""

from typing import Any

import pytest

from slurmery.api.nebius import NodeSet
from slurmery.kube.desired import Policy
from slurmery.nebius.cluster import Cluster, Workers
from slurmery.nebius.errors import SpecError
from slurmery.nebius.nodeset import build
from tests.unit.nebius.clusters import changed, check, cluster, manifest


def world(topology: str = "topology/tree", **changes: Any) -> tuple[Cluster, Workers]:
    given = NodeSet.model_validate(changed(manifest("5.0", "NodeSet"), changes))
    found = cluster("5.0", (given,), slurmConfig__topologyPlugin=topology)
    return found, found.nodesets[0]


def spec(topology: str = "topology/tree", **changes: Any) -> Any:
    return build.stateful_set(*world(topology, **changes), 16, {}).manifest["spec"]


def pod(topology: str = "topology/tree", **changes: Any) -> Any:
    return spec(topology, **changes)["template"]["spec"]


def names(items: Any) -> list[str]:
    return [each["name"] for each in items]


def environment(container: Any) -> dict[str, str]:
    return {each["name"]: each.get("value", "") for each in container["env"]}


def test_objects() -> None:
    found, workers = world()
    check(
        "nodeset",
        [
            build.umbrella_service(found),
            build.service(found, workers),
            build.limits(found, workers),
            *build.access(found, workers, [1, 0]),
            build.power_state(found, workers),
            build.stateful_set(found, workers, 16, {"borealis-munge": "a"}),
        ],
    )


def worker_init(topology: str, **changes: Any) -> Any:
    return next(each for each in pod(topology, **changes)["initContainers"] if each["name"] == "worker-init")


def test_a_worker_waits_for_its_place_in_the_network() -> None:
    init = worker_init("topology/tree", workerInitRandomDelaySeconds=0)

    assert init["command"] == ["python3", "/opt/bin/slurm/worker_init.py", "wait-controller", "wait-topology"]
    assert len(init["env"]) == 12
    assert names(init["volumeMounts"]) == ["jail", "munge-socket", "topology-node-labels"]
    assert environment(init)["K8S_SERVICE_NAME"] == "borealis-nodeset-svc"
    assert environment(init)["SLURM_TOPOLOGY_FABRIC"] == "fabric-1"


def test_without_a_topology_it_waits_for_the_controller_only() -> None:
    init = worker_init("", workerInitRandomDelaySeconds=0)

    assert init["command"][2:] == ["wait-controller"]
    assert len(init["env"]) == 6
    assert names(init["volumeMounts"]) == ["jail", "munge-socket"]
    assert environment(init)["K8S_SERVICE_NAME"] == "borealis-nodeset-svc"
    assert "topology-node-labels" not in names(pod("")["volumes"])


@pytest.mark.parametrize(("seconds", "there"), [(0, False), (30, True)])
def test_a_delay_at_random_only_where_it_is_wanted(seconds: int, there: bool) -> None:
    found = environment(worker_init("", workerInitRandomDelaySeconds=seconds))
    assert ("WORKER_INIT_RANDOM_DELAY_SECONDS" in found) == there


def test_places_in_the_network_may_be_missing() -> None:
    volume = next(each for each in pod()["volumes"] if each["name"] == "topology-node-labels")
    assert volume["configMap"]["optional"] is True


@pytest.mark.parametrize(("enabled", "containers"), [(True, ["slurmd", "docker-proxy"]), (False, ["slurmd"])])
def test_docker_has_a_proxy_where_it_is_enabled(enabled: bool, containers: list[str]) -> None:
    found = pod(docker={"enabled": enabled})["containers"]
    assert names(found) == containers
    assert all(names(each["volumeMounts"]) == ["runtime"] for each in found[1:])


@pytest.mark.parametrize("enabled", [True, False])
def test_gpus_bring_the_driver_of_the_host(enabled: bool) -> None:
    found = pod(gpu={"enabled": enabled})
    assert ("nvidia" in names(found["volumes"])) == enabled
    assert environment(found["containers"][0])["NODESET_GPU_ENABLED"] == str(enabled).lower()


def test_logs_and_outputs_of_the_host_are_in_the_shared_root() -> None:
    mounts = {each["name"]: each["mountPath"] for each in pod()["containers"][0]["volumeMounts"]}
    assert mounts["host-journal"] == "/mnt/jail.upper/var/hostlog/journal"
    assert mounts["soperator-outputs"] == "/mnt/jail.upper/opt/soperator-outputs/local"


@pytest.mark.parametrize(
    ("given", "policy"),
    [
        (None, {"whenDeleted": "Delete", "whenScaled": "Delete"}),
        ({"whenDeleted": "Retain"}, {"whenDeleted": "Retain", "whenScaled": "Delete"}),
        ({"whenScaled": "Retain"}, {"whenDeleted": "Delete", "whenScaled": "Retain"}),
    ],
)
def test_claims_are_kept_as_the_spec_says(given: Any, policy: Any) -> None:
    found = spec(slurmd__volumes__persistentVolumeClaimRetentionPolicy=given)
    assert found["persistentVolumeClaimRetentionPolicy"] == policy


def test_no_pod_is_replaced_behind_slurms_back() -> None:
    assert spec()["updateStrategy"] == {"type": "OnDelete"}


@pytest.mark.parametrize(
    ("active", "off"),
    [
        ((), ()),
        ((5,), (0, 1, 2, 3, 4)),
        ((0, 3, 5, 7, 12), (1, 2, 4, 6, 8, 9, 10, 11)),
        ((12, 0, 7, 3, 5), (1, 2, 4, 6, 8, 9, 10, 11)),
    ],
)
def test_ordinals_that_are_off(active: tuple[int, ...], off: tuple[int, ...]) -> None:
    assert build.reserved(active) == off


@pytest.mark.parametrize(("initial", "active"), [(0, []), (3, [0, 1, 2]), (99, list(range(16)))])
def test_ephemeral_nodes_are_on_as_the_spec_says_at_first(initial: int, active: list[int]) -> None:
    state = build.power_state(*world(initialNumberEphemeralNodes=initial))
    assert state is not None
    assert state.key.name == "gpu"
    assert state.manifest["spec"] == {"nodeSetRef": "gpu", "activeNodes": active}
    assert state.policy is Policy.CREATE_ONCE


def test_nodes_that_are_always_on_have_no_power_state() -> None:
    assert build.power_state(*world(ephemeralNodes=False)) is None


def test_a_worker_may_touch_nothing_but_its_like() -> None:
    account, role, binding = build.access(*world(), [2, 0])
    (rule,) = role.manifest["rules"]

    assert rule["resources"] == ["pods"]
    assert rule["resourceNames"] == ["gpu-0", "gpu-2"]
    assert rule["verbs"] == ["get", "patch"]
    assert binding.manifest["subjects"][0]["name"] == account.key.name == "borealis-gpu-nodeset-sa"


def test_without_pods_a_worker_may_touch_nothing() -> None:
    assert build.access(*world(), [])[1].manifest["rules"] == []


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        ({"slurmd__resources": {"cpu": 1}}, "NodeSet gpu: slurmd.resources needs memory"),
        (
            {"slurmd__volumes__jailSubMounts": [{"name": "x", "mountPath": "/x"}]},
            r"NodeSet gpu: slurmd.volumes.jailSubMounts\[0\]: give either",
        ),
    ],
)
def test_what_cannot_be_is_refused_with_its_place(given: dict[str, Any], complaint: str) -> None:
    with pytest.raises(SpecError, match=complaint):
        pod(**given)


def test_what_the_spec_adds_to_the_environment_wins() -> None:
    custom = [{"name": "CGROUP_V2", "value": "false"}]
    assert environment(pod(slurmd__customEnv=custom)["containers"][0])["CGROUP_V2"] == "false"
