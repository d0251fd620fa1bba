"""Both Helms against a real API server: what they take over, what they keep, what they cannot spoil."""

import json
import subprocess

import pytest
import yaml

from dev import binaries
from dev.binaries import HELM3, HELM4, Module
from dev.controlplane import ControlPlane
from slurmery.api import slinky
from slurmery.api.crd import crd
from tests.unit.charts.rendering import CHARTS, Object

HOME = "slurm"
KEYS = {"slurm-auth-slurm": "slurm.key", "slurm-auth-jwt": "jwt.key"}


class Installer:
    """One Helm, and one control plane."""

    def __init__(self, plane: ControlPlane, helm: Module) -> None:
        self.plane = plane
        self._helm = helm

    def __call__(self, *arguments: str) -> str:
        line = [str(binaries.find("helm", self._helm)), f"--kubeconfig={self.plane.kubeconfig}", *arguments]
        done = subprocess.run(
            [*line, f"--namespace={HOME}"], capture_output=True, text=True, check=False, timeout=120
        )
        assert not done.returncode, done.stderr
        return done.stdout

    def install(self, chart: str, *arguments: str) -> None:
        self("upgrade", "--install", chart, str(CHARTS / chart), "--create-namespace", *arguments)

    def get(self, *what: str) -> dict[str, Object]:
        items = json.loads(self.plane.kubectl(f"--namespace={HOME}", "get", *what, "-o", "json"))["items"]
        return {each["metadata"]["name"]: each for each in items}


@pytest.fixture(params=[HELM3, HELM4], ids=lambda helm: helm.folder)
def helm(request: pytest.FixtureRequest, private_plane: ControlPlane) -> Installer:
    return Installer(private_plane, request.param)


def test_a_cluster_lives_through_take_over_upgrade_and_removal(helm: Installer) -> None:
    # Definitions that somebody else installed, and an object that must not go with them.
    definitions = {"apiVersion": "v1", "kind": "List", "items": [crd(kind) for kind in slinky.KINDS]}
    helm.plane.kubectl("create", "-f", "-", stdin=json.dumps(definitions))
    helm.install("slurmery-crds", "--take-ownership", "--set=groups.nebius=false")
    helm.plane.kubectl("wait", "crd", "--all", "--for=condition=Established", "--timeout=30s")

    helm.install("slurm", "--set=nodesets.main.replicas=1")
    keys = {name: helm.get("secrets")[name]["data"] for name in KEYS}
    helm.install("slurm", "--set=nodesets.main.replicas=2")
    assert {name: helm.get("secrets")[name]["data"] for name in KEYS} == keys
    assert helm.get("nodesets.slinky.slurm.net")["slurm-worker-main"]["spec"]["replicas"] == 2

    # A rendering that could not look has other keys: it does no harm.
    blind = helm("template", "slurm", str(CHARTS / "slurm"), "--show-only=templates/keys.yaml")
    with pytest.raises(AssertionError, match="immutable"):
        helm.plane.kubectl(f"--namespace={HOME}", "apply", "-f", "-", stdin=blind)
    assert {name: helm.get("secrets")[name]["data"] for name in KEYS} == keys

    helm("uninstall", "slurmery-crds")
    assert len(helm.get("crds")) == len(slinky.KINDS)
    assert helm.get("controllers.slinky.slurm.net")


TOGETHER = {
    "slurm-cluster-storage": "filestore-values.yaml",
    "slurm-cluster": "soperator-5.0-values.yaml",
    "nodesets": "soperator-5.0-values.yaml",
    "soperator-activechecks": "gpu-values.yaml",
    "nodeconfigurator": "",
    "soperatorchecks": "",
}


def test_a_cluster_of_the_soperator_api_is_installed_and_its_volumes_outlive_it(helm: Installer) -> None:
    helm.install("slurmery-crds", "--set=groups.slinky=false")
    helm.plane.kubectl("wait", "crd", "--all", "--for=condition=Established", "--timeout=30s")

    for chart, file in TOGETHER.items():
        values = [f"--values={CHARTS / chart / 'ci' / file}"] if file else []
        helm.install(chart, *values)
        # Once more: what was taken once is taken again.
        helm.install(chart, *values)
    assert set(helm.get("slurmclusters.slurm.nebius.ai")) == {"borealis"}
    assert set(helm.get("nodesets.slurm.nebius.ai")) == {"worker-gpu", "worker-cpu"}
    assert "gpu-health" in helm.get("activechecks.slurm.nebius.ai")
    assert set(helm.get("nodeconfigurators.slurm.nebius.ai")) == {"nodeconfigurator"}
    claims = set(helm.get("persistentvolumeclaims"))
    assert claims >= {"jail-pvc", "controller-spool-pvc"}

    for chart in reversed(TOGETHER):
        helm("uninstall", chart)
    assert set(helm.get("slurmclusters.slurm.nebius.ai")) == set()
    assert set(helm.get("persistentvolumeclaims")) == claims

    for file in ("soperator-1.22-values.yaml", "small-values.yaml"):
        small = CHARTS / "slurm-cluster" / "ci" / file
        rendered = helm("template", "other", str(CHARTS / "slurm-cluster"), f"--values={small}")
        cluster = next(each for each in yaml.safe_load_all(rendered) if each["kind"] == "SlurmCluster")
        helm.plane.kubectl("create", "--dry-run=server", "-f", "-", stdin=json.dumps(cluster))
