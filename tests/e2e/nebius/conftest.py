"""The operator in its own image, and the example cluster with its jail."""

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from dev import images, operator, paths
from dev.kubectl import Kubectl
from dev.target import release
from tests.e2e.nebius.lab import Slurm


@pytest.fixture(scope="session")
def installed(kubectl: Kubectl) -> Kubectl:
    """The operator runs."""
    wanted = images.wanted(release(), paths.cache() / "images")
    operator.install(kubectl, next(image for image in wanted if image.name == "slurmery"))
    return kubectl


@pytest.fixture(scope="module")
def key(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A key with which one logs in as root."""
    path = tmp_path_factory.mktemp("ssh") / "key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", path], check=True)
    return path


@pytest.fixture(scope="module")
def slurm(installed: Kubectl, key: Path) -> Iterator[Slurm]:
    """The example, available, with both its workers idle."""
    text = (paths.ROOT / "examples/05-nebius/cluster.yaml").read_text()
    documents: list[dict[str, Any]] = list(yaml.safe_load_all(text.replace(":26.05", f":{release()}")))
    documents[-1]["spec"]["slurmNodes"]["login"]["sshRootPublicKeys"] = [
        key.with_suffix(".pub").read_text().strip()
    ]
    slurm = Slurm(installed, "fjord")
    installed("create", "namespace", slurm.namespace)
    try:
        slurm.kubectl("apply", "-f", "-", stdin=yaml.safe_dump_all(documents))
        slurm.wait("the cluster is available", lambda: slurm.phase() == "Available")
        slurm.wait("both workers are idle", lambda: slurm.states() == {f"worker-{n}": "idle" for n in (0, 1)})
        yield slurm
    finally:
        installed("delete", "namespace", slurm.namespace, "--timeout=120s")
