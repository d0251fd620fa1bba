"""The embedded cluster keeps what a real one promises, and keeps to itself."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from dev import cgroups, network, paths, teardown
from dev.cluster import Cluster
from dev.kubectl import Kubectl
from dev.progress import Progress
from tests.e2e.conftest import sleeper


def inside(cluster: Cluster, *command: str, node: str | None = None) -> subprocess.CompletedProcess[str]:
    line = cluster.sandbox.enter(*command, node=node)
    return subprocess.run(line, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("node", [None, "node-0", "node-1"])
def test_no_cable_leads_to_the_machines_network(cluster: Cluster, node: str | None) -> None:
    links = json.loads(inside(cluster, "ip", "-json", "-details", "link", node=node).stdout)

    kinds = {link.get("linkinfo", {}).get("info_kind", link["link_type"]) for link in links}
    assert kinds <= {"loopback", "bridge", "veth"}


def test_no_packet_finds_a_way_out(cluster: Cluster) -> None:
    # 192.0.2.0/24 is reserved for documentation; every node's default route ends at the control plane.
    way = inside(cluster, "ip", "route", "get", "192.0.2.77")

    assert way.returncode == 2
    assert "unreachable" in way.stderr


def test_a_name_outside_does_not_resolve(kubectl: Kubectl, namespace: str) -> None:
    kubectl(f"--namespace={namespace}", "apply", "-f", "-", stdin=sleeper("asker"))
    kubectl(f"--namespace={namespace}", "wait", "pod/asker", "--for=condition=Ready", "--timeout=60s")

    asked = kubectl.attempt(
        f"--namespace={namespace}", "exec", "asker", "--", "getent", "hosts", "example.org"
    )
    own = kubectl(f"--namespace={namespace}", "exec", "asker", "--", "getent", "hosts", "kubernetes.default")

    assert asked.returncode == 2
    assert own.startswith("10.96.0.1")


def test_a_claim_is_shared_by_both_nodes(kubectl: Kubectl, namespace: str) -> None:
    claim = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "home"},
        "spec": {"accessModes": ["ReadWriteMany"], "resources": {"requests": {"storage": "1Gi"}}},
    }
    mounted = {
        "volumes": [{"name": "home", "persistentVolumeClaim": {"claimName": "home"}}],
        "container": {"volumeMounts": [{"name": "home", "mountPath": "/home"}]},
    }
    in_namespace = f"--namespace={namespace}"
    kubectl(in_namespace, "apply", "-f", "-", stdin=json.dumps(claim))
    kubectl(in_namespace, "wait", "pvc/home", "--for=jsonpath={.status.phase}=Bound", "--timeout=30s")
    for name, node in (("writer", "node-0"), ("reader", "node-1")):
        kubectl(in_namespace, "apply", "-f", "-", stdin=sleeper(name, node, **mounted))
    kubectl(in_namespace, "wait", "pod/writer", "pod/reader", "--for=condition=Ready", "--timeout=60s")

    kubectl(in_namespace, "exec", "writer", "--", "sh", "-c", "echo from node-0 >/home/note")

    assert kubectl(in_namespace, "exec", "reader", "--", "cat", "/home/note") == "from node-0\n"


def test_a_service_reaches_pods_on_the_other_node(kubectl: Kubectl, namespace: str) -> None:
    in_namespace = f"--namespace={namespace}"
    answer = "use IO::Socket::INET; $s = IO::Socket::INET->new(LocalPort => 8000, Listen => 5, Reuse => 1); "
    answer += 'while ($c = $s->accept) { print $c "hello\\n"; close $c }'
    server = sleeper("server", "node-1", container={"command": ["perl", "-e", answer]})
    ask = 'use IO::Socket::INET; print IO::Socket::INET->new("server:8000")->getline'
    kubectl(in_namespace, "apply", "-f", "-", stdin=server)
    kubectl(in_namespace, "apply", "-f", "-", stdin=sleeper("client", "node-0"))
    kubectl(in_namespace, "expose", "pod", "server", "--port=8000")
    kubectl(in_namespace, "wait", "pod/server", "pod/client", "--for=condition=Ready", "--timeout=60s")

    deadline = time.monotonic() + 30
    while True:
        said = kubectl.attempt(in_namespace, "exec", "client", "--", "perl", "-e", ask)
        if said.stdout == "hello\n":
            break
        assert time.monotonic() < deadline, said.stderr
        time.sleep(0.3)


def test_two_checkouts_do_not_meet(cluster: Cluster, second_cluster: Cluster) -> None:
    second_cluster.start(Progress())
    second_cluster.kubectl("create", "namespace", "only-in-the-second")

    assert cluster.kubectl.attempt("get", "namespace", "only-in-the-second").returncode != 0


@pytest.mark.alone
def test_down_leaves_nothing(second_cluster: Cluster) -> None:
    before = _traces()
    second_cluster.start(Progress())
    folder = second_cluster.folder

    teardown.remove(folder)

    assert _traces() == before
    assert not folder.exists()
    assert not _processes(folder)
    assert not list(cgroups.MOUNT.rglob(f"{cgroups.OURS}/{folder.name}"))


@pytest.mark.parametrize("victim", ["sandbox", "init", "etcd", "node-1"])
def test_a_killed_part_comes_back_with_its_data(second_cluster: Cluster, victim: str) -> None:
    second_cluster.start(Progress())
    second_cluster.kubectl("create", "namespace", "kept")
    sandbox = second_cluster.sandbox
    if victim in ("sandbox", "init"):
        process = sandbox.process() if victim == "sandbox" else sandbox.first()
        assert process
        os.kill(process.pid, signal.SIGKILL)
        while process.alive():
            time.sleep(0.01)
    else:
        pid = (second_cluster.folder / f"run/{victim}.pid").read_text().strip()
        inside(second_cluster, "kill", "-9", pid)

    second_cluster.start(Progress())

    assert "kept" in second_cluster.kubectl("get", "namespaces")


@pytest.mark.parametrize("seconds", [0.2, 0.6, 1.2, 2.5, 4.0])
def test_up_killed_halfway_and_run_again(second_cluster: Cluster, seconds: float) -> None:
    """Whatever was half made when `up` died, the next `up` makes whole."""
    script = (
        "import sys, pathlib; from dev.cluster import Cluster; from dev.progress import Progress;"
        "Cluster(pathlib.Path(sys.argv[1])).start(Progress())"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script, str(second_cluster.folder)], cwd=paths.ROOT, stdout=subprocess.DEVNULL
    ) as process:
        time.sleep(seconds)
        process.kill()

    second_cluster.start(Progress())

    assert second_cluster.kubectl("get", "nodes").count(" Ready ") == network.NODES


def _traces() -> tuple[str, str, str]:
    """What a cluster could leave on the machine: links, mounts, packet filter rules."""
    rules = subprocess.run(["iptables-save"], capture_output=True, text=True, check=False).stdout
    counted = "\n".join(line for line in rules.splitlines() if not line.startswith(("#", ":")))
    return _run("ip", "-o", "link"), Path("/proc/self/mounts").read_text(), counted


def _processes(folder: Path) -> list[str]:
    commands = Path("/proc").glob("[0-9]*/cmdline")
    found = []
    for command in commands:
        try:
            text = command.read_text().replace("\0", " ")
        except (FileNotFoundError, ProcessLookupError):
            continue
        if str(folder) in text:
            found.append(text)
    return found


def _run(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout
