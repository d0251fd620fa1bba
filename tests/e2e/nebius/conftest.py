"""The example clusters that the operator makes, with their jails: `slurm` of 1.22, `tide` of 5.0."""

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dev.kubectl import Kubectl
from tests.e2e.nebius.lab import Slurm, deployed


@pytest.fixture(scope="package")
def key(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A key with which one logs in as root."""
    path = tmp_path_factory.mktemp("ssh") / "key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", path], check=True)
    return path


@pytest.fixture(scope="package")
def slurm(installed: Kubectl, key: Path) -> Iterator[Slurm]:
    """The first example, available, with both its workers idle."""

    def change(spec: Any) -> None:
        login = spec["slurmNodes"]["login"]
        login["sshRootPublicKeys"] = [key.with_suffix(".pub").read_text().strip()]
        # The port of the example is the demo's.
        login["sshdServiceType"] = "LoadBalancer"
        del login["sshdServiceNodePort"]
        spec["slurmNodes"]["exporter"]["collectionInterval"] = "2s"
        # As it is where nothing is said: a tree of switches.
        spec["slurmConfig"] |= {"topologyPlugin": "topology/tree", "topologyParam": "SwitchAsNodeRank"}

    with deployed(installed, "06-nebius/cluster.yaml", "fjord", change) as slurm:
        slurm.wait("both workers are idle", lambda: slurm.states() == {f"worker-{n}": "idle" for n in (0, 1)})
        slurm.wait("both are in the tree", lambda: "=worker-[0-1]" in slurm.topology())
        yield slurm


@pytest.fixture(scope="module")
def tide(installed: Kubectl) -> Iterator[Slurm]:
    """The example with NodeSets, available, with its static workers idle and no other."""

    def change(spec: Any) -> None:
        spec["slurmConfig"] |= {"suspendTime": 5, "topologyPlugin": "topology/block"}
        spec["topology"] = {"blockSize": 1}

    with deployed(installed, "07-nebius-nodesets/cluster.yaml", "tide", change, prefixed=True) as tide:
        steady = {f"steady-{n}": "idle" for n in (0, 1)}
        tide.wait("both static workers are idle", lambda: tide.states() == steady)
        yield tide
