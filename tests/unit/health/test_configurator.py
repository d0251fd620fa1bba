"""NodeConfigurators of both generations, as the charts write them."""

from typing import Any

import pytest

from slurmery.api.nebius import NodeConfigurator
from slurmery.doors.conditions import Rollout
from slurmery.health.configurator.decide import ConfiguratorPlan, Observed, decide, status
from tests.unit.nebius.clusters import changed, manifest


def given(version: str, **changes: Any) -> NodeConfigurator:
    return NodeConfigurator.model_validate(changed(manifest(version, "NodeConfigurator"), changes))


def plan(version: str, observed: Observed | None = None, **changes: Any) -> ConfiguratorPlan:
    return decide(given(version, **changes), observed or Observed())


def pod(version: str, **changes: Any) -> dict[str, Any]:
    [daemon_set] = plan(version, **changes).desired
    spec: dict[str, Any] = daemon_set.manifest["spec"]["template"]["spec"]
    return spec


IMAGE = {"rebooter__image": {"repository": "registry.example.com/rebooter", "tag": "1"}}
OFF = {"rebooter__enabled": False, "nodeConfigurator__enabled": True}


def test_the_rebooter_of_1_22_reaches_the_host_and_knows_its_node() -> None:
    spec = pod("1.22")
    [container] = spec["containers"]
    assert (spec["hostPID"], "hostNetwork" in spec) == (True, False)
    assert container["image"] == "registry.example.com/rebooter:1.22.1"
    assert container["command"] == ["/usr/bin/rebooter"]
    assert container["args"] == ["-log-level=info", "-log-format=json"]
    assert container["securityContext"]["privileged"]
    variables = {each["name"]: each.get("value") for each in container["env"]}
    assert variables == {"GOGC": "50", "REBOOTER_EVICTION_METHOD": "evict", "REBOOTER_NODE_NAME": None}
    assert spec["serviceAccountName"] == "rebooter"
    assert spec["nodeSelector"] == {"example.com/node-group": "gpu-a"}


def test_nobody_can_tell_the_rebooter_another_nodes_name() -> None:
    [container] = pod("1.22", rebooter__env=[{"name": "REBOOTER_NODE_NAME", "value": "elsewhere"}])[
        "containers"
    ]
    [name] = [each for each in container["env"] if each["name"] == "REBOOTER_NODE_NAME"]
    assert name["valueFrom"]["fieldRef"]["fieldPath"] == "spec.nodeName"


def test_without_the_rebooter_1_22_prepares_the_node_and_sleeps_without_rights() -> None:
    spec = pod("1.22", initContainers=None, **OFF)
    [prepares], [sleeps] = spec["initContainers"], spec["containers"]
    assert "hostPID" not in spec
    assert prepares["securityContext"]["privileged"]
    assert "kernel.unprivileged_userns_clone=1" in prepares["command"][-1]
    assert (sleeps["name"], sleeps["command"]) == ("node-sysctl-sleep", ["sleep", "infinity"])
    assert sleeps["securityContext"]["capabilities"] == {"drop": ["ALL"]}


def test_init_containers_of_the_user_replace_ours() -> None:
    assert [each["name"] for each in pod("1.22")["initContainers"]] == ["sysctl"]
    assert "initContainers" not in pod("5.0", **IMAGE)


def test_in_5_0_both_containers_run_and_the_rebooter_says_where() -> None:
    spec = pod("5.0", **IMAGE)
    assert [each["name"] for each in spec["containers"]] == ["rebooter", "driver-watcher"]
    assert (spec["hostIPC"], spec["shareProcessNamespace"], spec["hostUsers"]) == (True, True, True)
    assert pod("5.0", rebooter__enabled=False)["hostUsers"] is False
    assert pod("5.0", hostNetwork=True, **IMAGE)["hostNetwork"]


def test_a_missing_image_is_said_and_what_runs_is_left_alone() -> None:
    answer = plan("5.0")
    assert (answer.desired, answer.prune) == ((), ())
    assert answer.update_status == "failed"
    assert answer.conditions[-1].reason == "ImageMissing"


def test_with_nothing_enabled_nothing_is_left() -> None:
    answer = plan("5.0", rebooter__enabled=False, customContainer__enabled=False)
    assert answer.desired == ()
    assert answer.prune


@pytest.mark.parametrize(
    ("ready", "available", "update"), [(2, "False", "updating"), (3, "True", "succeeded")]
)
def test_it_is_available_when_every_node_has_its_pod(ready: int, available: str, update: str) -> None:
    rollout = Rollout(generation=2, observed_generation=2, replicas=3, ready=ready, updated=3)
    answer = plan("1.22", Observed(rollout, 3))
    assert (answer.conditions[0].type, answer.conditions[0].status) == ("Available", available)
    assert status(given("1.22"), Observed(), answer)["updateStatus"] == update
