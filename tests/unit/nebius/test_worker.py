"""The workers of a cluster that has its own."""

from typing import Any

import pytest

from slurmery.nebius.errors import SpecError
from slurmery.nebius.worker import build
from tests.unit.nebius.clusters import check, cluster

AT = "slurmNodes__worker__"


def pod(**changes: Any) -> Any:
    return build.stateful_set(cluster(**changes), 8, {}).manifest["spec"]["template"]["spec"]


def env(**changes: Any) -> dict[str, str]:
    return {each["name"]: each.get("value", "") for each in pod(**changes)["containers"][0]["env"]}


def test_objects() -> None:
    found = cluster()
    objects = [
        build.service_account(found),
        build.service(found),
        build.stateful_set(found, 8, {"aurora-munge": "a"}),
    ]
    check("worker", objects)


def test_no_pod_is_replaced_behind_slurms_back() -> None:
    assert build.stateful_set(cluster(), 8, {}).manifest["spec"]["updateStrategy"] == {"type": "OnDelete"}


def test_limits_equal_requests() -> None:
    resources = pod()["containers"][0]["resources"]
    assert resources["limits"] == resources["requests"]
    assert resources["limits"]["nvidia.com/gpu"] == "8"


def test_resources_are_needed() -> None:
    with pytest.raises(SpecError, match=r"slurmNodes.worker.slurmd.resources needs cpu"):
        pod(**{f"{AT}slurmd__resources": None})


def test_munge_starts_before_the_wait_for_the_controller() -> None:
    init = pod()["initContainers"]
    assert [each["name"] for each in init] == ["munge", "wait-for-controller"]
    assert {each["name"] for each in init[1]["volumeMounts"]} == {"jail", "munge-socket"}
    assert "env" not in init[1]


def test_volumes() -> None:
    found = {each["name"] for each in pod()["volumes"]}
    assert {"jail", "munge-key", "munge-socket"} <= found
    assert "slurm-configs" not in found


def test_shared_memory_is_as_large_as_the_spec_says() -> None:
    shm = next(each for each in pod()["volumes"] if each["name"] == "dev-shm")
    assert shm["emptyDir"] == {"medium": "Memory", "sizeLimit": "1024Gi"}


@pytest.mark.parametrize(("version", "there"), [("v1", False), ("v2", True)])
def test_cgroups(version: str, there: bool) -> None:
    assert ("CGROUP_V2" in env(**{f"{AT}cgroupVersion": version})) == there


def test_features_and_memory_reach_slurmd() -> None:
    found = env()
    assert found["SLURM_FEATURE_pool-a"] == "worker-[0-3]"
    assert found["SLURM_REAL_MEMORY"] == str(1200 * 1024)
    assert found["NVIDIA_GDRCOPY"] == "enabled"
    assert found["K8S_SERVICE_NAME"] == "aurora-worker-svc"


@pytest.mark.parametrize(
    ("feature", "complaint"),
    [
        ({"name": "a b", "hostlistExpr": "w-0"}, r"workerFeatures\[0\].name"),
        ({"name": "a", "hostlistExpr": "w-[0"}, r"workerFeatures\[0\].hostlistExpr"),
    ],
)
def test_a_feature_that_cannot_be_is_named(feature: dict[str, str], complaint: str) -> None:
    with pytest.raises(SpecError, match=complaint):
        pod(workerFeatures=[feature])


def test_annotations_of_the_spec_win() -> None:
    changes: dict[str, Any] = {
        f"{AT}workerAnnotations": {"kubectl.kubernetes.io/default-container": "munge", "x": "y"}
    }
    template = build.stateful_set(cluster(**changes), 8, {}).manifest["spec"]["template"]
    assert template["metadata"]["annotations"] == {
        "kubectl.kubernetes.io/default-container": "munge",
        "x": "y",
    }


@pytest.mark.parametrize(("default", "kind"), [(True, "Localhost"), (False, "Unconfined")])
def test_the_default_profile_is_loaded_where_it_is_wanted(default: bool, kind: str) -> None:
    context = pod(useDefaultAppArmorProfile=default)["containers"][0]["securityContext"]
    assert context["appArmorProfile"]["type"] == kind


def test_a_cluster_of_nodesets_has_no_workers_of_its_own() -> None:
    with pytest.raises(SpecError, match=r"slurmNodes.worker is missing"):
        build.service(cluster("5.0"))
