"""A Slurm cluster by Slinky's API, made by the operator in its own image, with real Slurm and real jobs."""

import base64
import json
import secrets
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from dev import images, operator, paths
from dev.kubectl import Kubectl
from dev.refusal import Refusal
from dev.target import release

NAMESPACE = "slinky"
SECONDS = 180


class Slurm:
    """The example cluster, asked from inside."""

    def __init__(self, kubectl: Kubectl) -> None:
        self._kubectl = kubectl

    def kubectl(self, *arguments: str, stdin: str | None = None) -> str:
        return self._kubectl(f"--namespace={NAMESPACE}", *arguments, stdin=stdin)

    def run(self, *command: str) -> str:
        return self.kubectl("exec", "slurm-controller-0", "-c", "slurmctld", "--", *command)

    def states(self) -> dict[str, str]:
        lines = self.run("sinfo", "-h", "-N", "-o", "%N %T").splitlines()
        return dict(line.split() for line in lines)

    def workers(self) -> dict[str, Any]:
        pods = json.loads(self.kubectl("get", "pods", "-l", "app.kubernetes.io/name=slurmd", "-o", "json"))
        return {pod["metadata"]["name"]: pod for pod in pods["items"]}

    def settled(self) -> bool:
        """Both workers are idle to Slurm and ready to Kubernetes: an unready one would be the first to go."""
        conditions = [each for pod in self.workers().values() for each in pod["status"]["conditions"]]
        ready = sum(each["type"] == "Ready" and each["status"] == "True" for each in conditions)
        return ready == 2 and self.states() == {"workers-0": "idle", "workers-1": "idle"}

    def wait(self, what: str, holds: Callable[[], bool]) -> None:
        deadline = time.monotonic() + SECONDS
        while True:
            try:
                if holds():
                    return
                reason = self.kubectl("get", "controllers,nodesets,pods", "-o", "wide")
            except Refusal as refusal:
                reason = str(refusal)
            assert time.monotonic() < deadline, f"{what}: {reason}"
            time.sleep(0.5)

    def condition(self, kind: str) -> str:
        path = f"jsonpath={{.status.conditions[?(@.type=='{kind}')].message}}"
        return self.kubectl("get", "nodeset", "workers", "-o", path)


@pytest.fixture(scope="module")
def slurm(kubectl: Kubectl) -> Iterator[Slurm]:
    wanted = images.wanted(release(), paths.cache() / "images")
    operator.install(kubectl, next(image for image in wanted if image.name == "slurmery"))
    kubectl("create", "namespace", NAMESPACE)
    slurm = Slurm(kubectl)
    keys = {"slurm.key": secrets.token_bytes(1024), "jwt.key": secrets.token_bytes(32)}
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "slurm-keys"},
        "data": {name: base64.b64encode(value).decode() for name, value in keys.items()},
    }
    slurm.kubectl("apply", "-f", "-", stdin=json.dumps(secret))
    slurm.kubectl("apply", "-f", str(paths.ROOT / "examples/01-slinky/cluster.yaml"))
    slurm.wait("two idle workers", slurm.settled)
    yield slurm
    slurm.kubectl("delete", "nodeset", "workers", "--timeout=120s")
    kubectl("delete", "namespace", NAMESPACE, "--wait=false")


def test_jobs_run_on_two_workers_that_are_not_privileged(slurm: Slurm) -> None:
    assert sorted(slurm.run("srun", "-N2", "hostname").split()) == ["workers-0", "workers-1"]
    for pod in slurm.workers().values():
        slurmd = next(c for c in pod["spec"]["containers"] if c["name"] == "slurmd")
        assert slurmd["securityContext"]["privileged"] is False


def test_scale_in_waits_for_the_running_job(slurm: Slurm) -> None:
    job = slurm.run(
        "sbatch", "--parsable", "-w", "workers-1", "-o", "/dev/null", "--wrap", "sleep 20"
    ).strip()
    slurm.wait("the job runs", lambda: "RUNNING" in slurm.run("squeue", "-h", "-j", job, "-o", "%T"))

    slurm.kubectl("scale", "nodeset", "workers", "--replicas=1")
    slurm.wait("the worker drains", lambda: slurm.states().get("workers-1") == "draining")
    words = "workers-1: scale-in waits: it has running jobs"
    slurm.wait("it says why it waits", lambda: words in slurm.condition("Progressing"))

    assert "workers-1" in slurm.workers()
    slurm.wait("the worker is gone", lambda: "workers-1" not in slurm.workers())
    ended = slurm.run("scontrol", "show", "job", job)
    assert "JobState=COMPLETED" in ended
    slurm.kubectl("scale", "nodeset", "workers", "--replicas=2")
    slurm.wait("it is back", slurm.settled)


def test_an_admins_drain_is_left_alone(slurm: Slurm) -> None:
    slurm.run("scontrol", "update", "nodename=workers-0", "state=drain", "reason=bad disk")
    slurm.kubectl("annotate", "nodeset", "workers", "example.org/touched=now")
    time.sleep(12)

    assert "bad disk" in slurm.run("sinfo", "-h", "-N", "-n", "workers-0", "-o", "%E")
    slurm.run("scontrol", "update", "nodename=workers-0", "state=resume")
    slurm.wait("it is idle", lambda: slurm.states().get("workers-0") == "idle")


def test_a_killed_worker_comes_back_and_registers(slurm: Slurm) -> None:
    before = slurm.workers()["workers-0"]["metadata"]["uid"]
    slurm.kubectl("delete", "pod", "workers-0", "--grace-period=1")
    slurm.wait(
        "a new pod",
        lambda: slurm.workers().get("workers-0", {"metadata": {"uid": before}})["metadata"]["uid"] != before,
    )
    slurm.wait("it is idle", lambda: slurm.states().get("workers-0") == "idle")
