"""The rebooter on every node, as its chart brings it there: it has what it needs to reach its host."""

import json
import time
from collections.abc import Iterator

import pytest

import slurmery
from dev.cluster import Cluster
from dev.kubectl import Kubectl
from dev.operator import NAMESPACE
from dev.target import LOCAL, Embedded
from slurmery.agents.rebooter.host import COMMAND
from tests.e2e.slinky.lab import unique

SECONDS = 120
# Another one each time: what was installed before is taken for being there.
RELEASE = unique("nodes")


@pytest.fixture(scope="module")
def rebooters(cluster: Cluster, installed: Kubectl) -> Iterator[list[str]]:
    """Their pods, once there is one on each node."""
    rebooter = {"dryRun": True, "image": {"repository": f"{LOCAL}/slurmery", "tag": slurmery.__version__}}
    Embedded().helm().install(RELEASE, "nodeconfigurator", NAMESPACE, {"rebooter": rebooter})
    labels = f"--selector=app.kubernetes.io/instance={RELEASE}"
    try:
        for _ in range(SECONDS):
            found = json.loads(installed(f"--namespace={NAMESPACE}", "get", "pods", labels, "-o", "json"))
            running = [one for one in found["items"] if one["status"]["phase"] == "Running"]
            if len({one["spec"]["nodeName"] for one in running}) == 2:
                break
            time.sleep(1)
        yield [one["metadata"]["name"] for one in running]
    finally:
        installed(f"--namespace={NAMESPACE}", "delete", "nodeconfigurator", RELEASE, "--timeout=60s")


def test_the_rebooter_reaches_the_host_that_it_runs_on(rebooters: list[str], installed: Kubectl) -> None:
    *reach, _ = COMMAND

    assert len(rebooters) == 2
    for pod in rebooters:
        # Anything but a reboot.
        name = installed(f"--namespace={NAMESPACE}", "exec", pod, "--", *reach, "cat", "/proc/1/comm")
        assert name.strip()


def test_it_says_how_it_stands_without_a_403(rebooters: list[str], installed: Kubectl) -> None:
    for pod in rebooters:
        lines = installed(f"--namespace={NAMESPACE}", "logs", pod)
        assert "Forbidden" not in lines
    said = ("wait", f"nodeconfigurator/{RELEASE}", "--for=condition=Available", f"--timeout={SECONDS}s")
    assert installed(f"--namespace={NAMESPACE}", *said)
