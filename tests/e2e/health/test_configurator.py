"""A NodeConfigurator brings the rebooter to a node by its chart, with least rights; the kubelet is real."""

import json
import subprocess
import time

import pytest

import slurmery
from dev import binaries, operator
from dev.cluster import Cluster
from dev.helm import Helm
from dev.kubectl import Kubectl
from dev.progress import Progress
from dev.target import LOCAL, Embedded, release
from tests.e2e.conftest import sleeper

NODE = "node-1"
NAMESPACE = "nodes"
REBOOTER = {
    "dryRun": True,
    "image": {"repository": f"{LOCAL}/slurmery", "tag": slurmery.__version__},
    "nodeSelector": {"kubernetes.io/hostname": NODE},
}
# The last thing that the pod does, and that its container's log tells.
LAST = ["sh", "-c", "sleep 2; echo files are closed > /proc/1/fd/1"]


@pytest.fixture
def kubectl(second_cluster: Cluster) -> Kubectl:
    """A cluster of its own: whoever else is on the node is evicted, too."""
    second_cluster.up(release(), Progress(), only=("pause", "login", "slurmery"))
    helm = Helm(binaries.find("helm"), second_cluster.kubeconfig)
    operator.install(second_cluster.kubectl, helm, LOCAL, Embedded().content(), print)
    helm.install("nodes", "nodeconfigurator", NAMESPACE, {"rebooter": REBOOTER})
    return second_cluster.kubectl


def test_a_reboot_waits_for_disruption_budgets_and_pre_stop_hooks_and_opens_the_node_again(
    kubectl: Kubectl,
) -> None:
    here = f"--namespace={NAMESPACE}"
    kubectl(here, "wait", "nodeconfigurator/nodes", "--for=condition=Available", "--timeout=120s")
    container = {"lifecycle": {"preStop": {"exec": {"command": LAST}}}}
    pod = sleeper("database", NODE, container=container, terminationGracePeriodSeconds=30)
    kubectl(here, "create", "-f", "-", stdin=pod)
    kubectl(here, "create", "poddisruptionbudget", "database", "--selector=app=database", "--min-available=1")
    kubectl(here, "wait", "pod/database", "--for=condition=Ready", "--timeout=60s")
    says(kubectl, "poddisruptionbudget/database", "{.status.currentHealthy}", "1")

    ask_for_a_reboot(kubectl)
    says(kubectl, f"node/{NODE}", "{.spec.unschedulable}", "true")
    refused = f"{NAMESPACE}/database may not leave yet"
    until_said(kubectl, "get", "events", "--all-namespaces", words=refused)
    assert condition(kubectl, "SlurmNodeReboot") == "NodeNeedReboot"

    with subprocess.Popen(
        [
            binaries.find("kubectl"),
            f"--kubeconfig={kubectl.kubeconfig}",
            here,
            "logs",
            "--follow",
            "database",
        ],
        stdout=subprocess.PIPE,
        text=True,
    ) as log:
        kubectl(here, "delete", "poddisruptionbudget", "database")
        says(kubectl, f"node/{NODE}", reason("SlurmNodeReboot"), "NodeRebooted")
        told, _ = log.communicate(timeout=60)
    assert "files are closed" in told
    assert condition(kubectl, "SlurmNodeDrain") == "NodeUndrained"
    assert kubectl("get", f"node/{NODE}", "--output=jsonpath={.spec.unschedulable}") == ""
    assert not kubectl.attempt(here, "get", "pod/database").stdout


def ask_for_a_reboot(kubectl: Kubectl) -> None:
    """As a person can, by the line of the guide."""
    now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    asked = {"type": "SlurmNodeReboot", "status": "True", "reason": "NodeNeedReboot", "message": "ana"}
    patch = json.dumps({"status": {"conditions": [{**asked, "lastTransitionTime": now}]}})
    kubectl("patch", f"node/{NODE}", "--subresource=status", "--type=strategic", f"--patch={patch}")


def reason(kind: str) -> str:
    return f'{{.status.conditions[?(@.type=="{kind}")].reason}}'


def condition(kubectl: Kubectl, kind: str) -> str:
    return kubectl("get", f"node/{NODE}", f"--output=jsonpath={reason(kind)}")


def says(kubectl: Kubectl, what: str, path: str, value: str) -> None:
    kubectl(f"--namespace={NAMESPACE}", "wait", what, f"--for=jsonpath={path}={value}", "--timeout=90s")


def until_said(kubectl: Kubectl, *arguments: str, words: str) -> None:
    deadline = time.monotonic() + 60
    while words not in kubectl(*arguments):
        assert time.monotonic() < deadline, words
        time.sleep(0.5)
