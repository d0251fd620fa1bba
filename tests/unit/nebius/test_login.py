"""The login nodes."""

from typing import Any

import pytest

from slurmery.nebius.login import build
from tests.unit.nebius.clusters import check, cluster

AT = "slurmNodes__login__"


@pytest.mark.parametrize("version", ["1.22", "5.0"])
def test_objects(version: str) -> None:
    found = cluster(version)
    objects = [build.service(found), build.headless_service(found), build.stateful_set(found, {"munge": "a"})]
    check(f"login-{version}", objects)


def spec(kind: str, **changes: Any) -> Any:
    given = {f"{AT}sshdServiceType": kind, **{f"{AT}{name}": value for name, value in changes.items()}}
    return build.service(cluster(**given)).manifest["spec"]


def test_a_load_balancer_has_an_address_and_lets_some_in() -> None:
    found = spec("LoadBalancer")
    assert found["loadBalancerIP"] == "192.0.2.10"
    assert found["loadBalancerSourceRanges"] == ["192.0.2.0/24"]
    assert "nodePort" not in found["ports"][0]


@pytest.mark.parametrize("ranges", [None, []])
def test_a_load_balancer_lets_all_in_where_nothing_is_said(ranges: Any) -> None:
    assert "loadBalancerSourceRanges" not in spec("LoadBalancer", sshdServiceLoadBalancerSourceRanges=ranges)


def test_a_node_port_has_nothing_of_a_load_balancer() -> None:
    found = spec("NodePort")
    assert found["ports"][0]["nodePort"] == 30022
    assert not {"loadBalancerIP", "loadBalancerSourceRanges"} & found.keys()


@pytest.mark.parametrize("given", [None, "high"])
def test_the_priority_class_is_passed_on(given: str | None) -> None:
    found = build.stateful_set(cluster(slurmNodes__login__priorityClass=given), {}).manifest
    assert found["spec"]["template"]["spec"].get("priorityClassName") == given


def test_a_users_own_sshd_config_is_mounted() -> None:
    found = build.stateful_set(cluster(), {}).manifest["spec"]["template"]["spec"]["volumes"]
    assert (
        next(each for each in found if each["name"] == "ssh-configs")["configMap"]["name"] == "my-login-sshd"
    )


def test_sub_mounts_are_beside_the_shared_root() -> None:
    sshd = build.stateful_set(cluster(), {}).manifest["spec"]["template"]["spec"]["containers"][0]
    mounts = {each["name"]: each["mountPath"] for each in sshd["volumeMounts"]}
    assert mounts["slurm-scripts"] == "/mnt/jail.upper/opt/slurm_scripts/"
