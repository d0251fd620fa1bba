"""The example cluster that the operator makes, with its jail."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from dev import example
from dev.kubectl import Kubectl
from dev.target import LOCAL, release
from tests.e2e.nebius.lab import Slurm


@pytest.fixture(scope="module")
def key(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A key with which one logs in as root."""
    path = tmp_path_factory.mktemp("ssh") / "key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", path], check=True)
    return path


@pytest.fixture(scope="module")
def slurm(installed: Kubectl, key: Path) -> Iterator[Slurm]:
    """The example, available, with both its workers idle."""
    documents = list(yaml.safe_load_all(example.manifest(LOCAL, release(), "06-nebius/cluster.yaml")))
    login = documents[-1]["spec"]["slurmNodes"]["login"]
    login["sshRootPublicKeys"] = [key.with_suffix(".pub").read_text().strip()]
    slurm = Slurm(installed, "fjord")
    installed("create", "namespace", slurm.namespace)
    try:
        slurm.kubectl("apply", "-f", "-", stdin=yaml.safe_dump_all(documents))
        slurm.wait("the cluster is available", lambda: slurm.phase() == "Available")
        slurm.wait("both workers are idle", lambda: slurm.states() == {f"worker-{n}": "idle" for n in (0, 1)})
        yield slurm
    finally:
        installed("delete", "namespace", slurm.namespace, "--timeout=120s")
