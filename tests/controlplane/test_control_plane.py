"""The ground that every controlplane test stands on."""

import json
from pathlib import Path

import pytest

from dev.controlplane import ControlPlane


def test_it_answers_with_the_pinned_version(control_plane: ControlPlane) -> None:
    version = json.loads(control_plane.kubectl("get", "--raw", "/version"))

    assert version["gitVersion"].startswith("v1.36.")


def test_several_run_side_by_side(control_plane: ControlPlane, private_plane: ControlPlane) -> None:
    control_plane.kubectl("create", "namespace", "only-here")

    assert control_plane.server != private_plane.server
    with pytest.raises(AssertionError, match="NotFound"):
        private_plane.kubectl("get", "namespace", "only-here")


def test_data_survive_the_death_of_the_api_server(private_plane: ControlPlane) -> None:
    private_plane.kubectl("create", "namespace", "kept")
    private_plane.stop("kube-apiserver")
    private_plane.start_apiserver()

    assert "kept" in private_plane.kubectl("get", "namespaces")


def test_a_user_without_rights_is_refused(control_plane: ControlPlane, tmp_path: Path) -> None:
    stranger = control_plane.user("stranger", "stranger")

    with pytest.raises(AssertionError, match="Forbidden"):
        control_plane.kubectl(f"--kubeconfig={stranger}", "get", "secrets", "-A")


def test_fake_kubelets_run_pods(private_plane: ControlPlane) -> None:
    private_plane.start_controller_manager()
    private_plane.start_kwok()
    node = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": "fake-0", "annotations": {"kwok.x-k8s.io/node": "fake"}},
    }
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "worker-0"},
        "spec": {"nodeName": "fake-0", "containers": [{"name": "slurmd", "image": "slurmd"}]},
    }
    private_plane.kubectl("apply", "-f", "-", stdin=json.dumps(node))
    private_plane.kubectl("wait", "node/fake-0", "--for=condition=Ready", "--timeout=60s")
    private_plane.kubectl("wait", "serviceaccount/default", "--for=create", "--timeout=60s")
    private_plane.kubectl("apply", "-f", "-", stdin=json.dumps(pod))
    private_plane.kubectl("wait", "pod/worker-0", "--for=condition=Ready", "--timeout=60s")
    private_plane.kubectl("delete", "pod", "worker-0", "--timeout=60s")
