"""In Kubernetes the exporter signs its own tokens, with the key that the Secret holds at the time."""

import base64
import secrets
from collections.abc import Iterator
from pathlib import Path

import pytest

from dev.controlplane import ControlPlane
from slurmery.kube import config
from slurmery.kube.client import Client
from slurmery.kube.resources import NAMESPACES, SECRETS
from tests.e2e.slurm.lab import Lab
from tests.unit.exporter.parsed import names, one
from tests.unit.exporter.process import exporting


@pytest.fixture
def plane(tmp_path: Path) -> Iterator[ControlPlane]:
    with ControlPlane(tmp_path) as running:
        yield running


def secret(key: bytes) -> dict[str, object]:
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "lab-rest-jwt-key", "namespace": "slurm"},
        "data": {"rest_jwt.key": base64.b64encode(key).decode()},
    }


async def test_the_key_of_the_moment_is_used(lab: Lab, plane: ControlPlane) -> None:
    async with Client(config.load(plane.kubeconfig)) as kubernetes:
        namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "slurm"}}
        await kubernetes.create(NAMESPACES, namespace)
        await kubernetes.apply(SECRETS, secret(secrets.token_bytes(32)))
        async with exporting(lab.url, standalone=False, kubeconfig=str(plane.kubeconfig)) as exporter:
            assert "slurm_node_info" not in names(await exporter.page())
            await kubernetes.apply(SECRETS, secret(lab.key))
            series = await exporter.page("slurm_node_info", "slurm_jobs_running", seconds=60)

    assert one(series, "slurm_cluster_nodes_total") == 2
