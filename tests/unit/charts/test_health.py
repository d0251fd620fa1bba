"""Charts of what watches over nodes: values as Soperator's users have them come to programs that start."""

import pytest
import yaml

from slurmery.api.nebius.nodeconfigurator import NodeConfiguratorSpec
from slurmery.api.validation import validate
from slurmery.cli.flags import read
from slurmery.cli.programs.checks import policy
from slurmery.cli.settings.checks import ChecksSettings
from slurmery.cli.settings.rebooter import RebooterSettings
from slurmery.health.configurator.build import daemon_set
from slurmery.health.repair.policy import Response
from slurmery.health.repair.policyfile import laid_over
from slurmery.kube.meta import Key
from tests.unit.charts.rendering import HELMS, Object, one, render

# As users of 1.22 and of 5.0 have them.
CHECKS_1_22: Object = {
    "checks": {
        "kubeRbacProxy": {"args": ["--v=0"], "image": {"repository": "proxy", "tag": "v0.15.0"}},
        "manager": {
            "args": [
                "--enable-node-replacement=false",
                "--log-format=json",
                "--reconcile-timeout=3m",
                "--max-concurrent-reconciles=1",
                "--cache-sync-timeout=2m",
                "--enable-node-replacement=false",
                "--not-ready-timeout=15m",
                "--delete-not-ready-nodes=true",
                "--leader-elect",
                '--maintenance-condition-type="NebiusMaintenanceScheduled"',
            ],
            "env": {"slurmOperatorWatchNamespaces": "*"},
            "image": {"repository": "registry.example.com/slurmery", "tag": "1.22.2"},
            "imagePullPolicy": "Always",
        },
        "serviceAccount": {"annotations": {}},
    },
    "kubernetesClusterDomain": "cluster.local",
    "serviceMonitor": {"enabled": True, "jobLabel": "soperatorchecks", "metricRelabelings": []},
}
CHECKS_5_0: Object = {
    "checks": {
        "replicas": 2,
        "manager": {
            "enableNodeReplacement": True,
            "enableExtensiveCheck": False,
            "controllersEnabled": {"k8snodes": False, "activecheckprolog": True},
            "env": {"maintenanceIgnoreNodeLabels": "slurm.nebius.ai/nodeset=nfs"},
        },
        "tolerations": [{"operator": "Exists"}],
    }
}
CONFIGURATOR_1_22: Object = {
    "nodeConfigurator": {
        "enabled": False,
        "image": {
            "repository": "registry.example.com/busybox",
            "tag": "latest",
            "pullPolicy": "IfNotPresent",
        },
        "resources": {},
        "serviceAccountName": "",
    },
    "rebooter": {
        "enabled": True,
        "generateRBAC": True,
        "evictionMethod": "evict",
        "logFormat": "json",
        "env": [],
    },
    "serviceMonitor": {"enabled": True, "jobLabel": "rebooter", "interval": "30s", "scrapeTimeout": "28s"},
}


def settings(values: Object) -> ChecksSettings:
    """What the program in the chart's pod is told."""
    [container] = one(render("soperatorchecks", values), "Deployment", "soperatorchecks")["spec"]["template"][
        "spec"
    ]["containers"]
    assert container["command"] == ["/usr/bin/soperatorchecks"]
    environment = {each["name"]: each["value"] for each in container["env"]}
    return read(ChecksSettings, container["args"], environment).settings


@pytest.mark.parametrize("values", [{}, CHECKS_1_22, CHECKS_5_0], ids=["defaults", "1.22", "5.0"])
def test_both_helms_render_the_same(values: Object) -> None:
    three, four = (render("soperatorchecks", values, helm=helm) for helm in HELMS)

    assert three == four


def test_nothing_is_replaced_or_deleted_until_somebody_says_so() -> None:
    usual = settings({})

    assert (usual.enable_node_replacement, usual.delete_not_ready_nodes) == (False, False)
    assert usual.leader_elect


def test_flags_and_switches_of_both_generations_are_understood() -> None:
    old, new = settings(CHECKS_1_22), settings(CHECKS_5_0)

    assert old.maintenance_condition_type == ("NebiusMaintenanceScheduled",)
    assert (old.enable_node_replacement, old.delete_not_ready_nodes, old.namespaces) == (False, True, ())
    assert new.enable_node_replacement
    assert not new.controllers.on("k8snodes")
    assert new.controllers.on("slurmnodes")
    assert dict(new.maintenance_ignore_node_labels) == {"slurm.nebius.ai/nodeset": "nfs"}


def test_a_policy_is_mounted_and_read() -> None:
    wanted = {"conditions": {"KernelDeadlock": "reboot"}, "budget": 2}
    objects = render("soperatorchecks", {"checks": {"manager": {"policy": wanted}}})
    text = one(objects, "ConfigMap", "soperatorchecks-policy")["data"]["policy.yaml"]

    read_back = laid_over(policy(ChecksSettings()), text)
    assert yaml.safe_load(text) == wanted
    assert (read_back.conditions["KernelDeadlock"], read_back.budget) == (Response.REBOOT, 2)
    assert str(settings({"checks": {"manager": {"policy": wanted}}}).policy) == "/etc/slurmery/policy.yaml"


def configurator(values: Object) -> Object:
    found = one(render("nodeconfigurator", values), "NodeConfigurator", "nodeconfigurator")
    assert not validate(found)
    return found


@pytest.mark.parametrize("values", [{}, CONFIGURATOR_1_22, {"rebooter": {"dryRun": True}}])
def test_the_rebooter_starts_with_an_account_that_is_made(values: Object) -> None:
    spec = NodeConfiguratorSpec.model_validate(configurator(values)["spec"])
    made = daemon_set(Key("ours", "nodes"), spec)
    assert made

    pod = made["spec"]["template"]["spec"]
    [container] = pod["containers"]
    assert container["command"][0] == "/usr/bin/rebooter"
    words = [*container["command"][1:], *container["args"]]
    assert read(RebooterSettings, words, {"REBOOTER_NODE_NAME": "a"}).settings.dry_run is bool(
        values.get("rebooter", {}).get("dryRun")
    )
    assert one(render("nodeconfigurator", values), "ServiceAccount", pod["serviceAccountName"])
    assert not pod.get("hostNetwork")


def test_rights_are_not_made_for_who_has_them() -> None:
    own = {"rebooter": {"generateRBAC": False, "serviceAccountName": "own"}}

    assert [each["kind"] for each in render("nodeconfigurator", own)] == ["NodeConfigurator"]
    assert configurator(own)["spec"]["rebooter"]["serviceAccountName"] == "own"
