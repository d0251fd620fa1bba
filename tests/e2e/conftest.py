"""The embedded cluster of this checkout, shared by all e2e tests and left running for the next run."""

import json
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dev import files, operator, paths, teardown
from dev.cluster import Cluster
from dev.kubectl import Kubectl
from dev.progress import Progress
from dev.target import LOCAL, Embedded, release


@pytest.fixture(scope="session")
def cluster() -> Cluster:
    this = Cluster()
    this.up(release(), Progress())
    return this


@pytest.fixture(scope="session")
def kubectl(cluster: Cluster) -> Kubectl:
    return cluster.kubectl


@pytest.fixture(scope="session")
def installed(kubectl: Kubectl) -> Kubectl:
    """The operator runs as its charts install it, with least rights and its webhooks on."""
    target = Embedded()
    with files.lock(paths.state() / "installing"):  # the other half of the tests may want it just now
        operator.install(kubectl, target.helm(), target.registry, target.content(), print)
    return kubectl


@pytest.fixture
def namespace(kubectl: Kubectl) -> Iterator[str]:
    name = f"test-{uuid.uuid4().hex[:8]}"
    kubectl("create", "namespace", name)
    kubectl("wait", "serviceaccount/default", "--for=create", f"--namespace={name}", "--timeout=30s")
    yield name
    kubectl("delete", "namespace", name, "--wait=false")


@pytest.fixture
def second_cluster(tmp_path: Path) -> Iterator[Cluster]:
    """Another cluster beside the first, as a second checkout would make it."""
    folder = tmp_path / f"second-{uuid.uuid4().hex[:6]}"
    try:
        yield Cluster(folder)
    finally:
        teardown.remove(folder)


def sleeper(name: str, node: str | None = None, **spec: Any) -> str:
    """A pod that does nothing, in the login image, which has a shell and Slurm's client."""
    container = {
        "name": "main",
        "image": f"{LOCAL}/login:{release()}",
        "command": ["tini", "--", "sleep", "infinity"],
        **spec.pop("container", {}),
    }
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": {"app": name}},
        "spec": {"nodeName": node, "terminationGracePeriodSeconds": 1, "containers": [container], **spec},
    }
    return json.dumps(pod)
