"""A Slurm cluster by Slinky's API in a namespace of its own, asked and changed as its users do."""

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

from dev.example import keys
from dev.kubectl import Completed, Kubectl
from dev.refusal import Refusal

SECONDS: Final = 180


class Slurm:
    """The example cluster, asked from inside."""

    def __init__(self, kubectl: Kubectl, namespace: str) -> None:
        self._kubectl = kubectl
        self.namespace = namespace

    def kubectl(self, *arguments: str, stdin: str | None = None) -> str:
        return self._kubectl(f"--namespace={self.namespace}", *arguments, stdin=stdin)

    def attempt(self, *arguments: str, stdin: str | None = None) -> Completed:
        return self._kubectl.attempt(f"--namespace={self.namespace}", *arguments, stdin=stdin)

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
        conditions = [each for pod in self.workers().values() for each in pod["status"].get("conditions", ())]
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

    def make_keys(self) -> None:
        self.kubectl("create", "-f", "-", stdin=keys())


@contextmanager
def slurm_cluster(kubectl: Kubectl, namespace: str, manifest: str) -> Iterator[Slurm]:
    """What the manifest describes, in a new namespace; gone afterwards, the NodeSets first."""
    kubectl("create", "namespace", namespace)
    slurm = Slurm(kubectl, namespace)
    try:
        slurm.make_keys()
        slurm.kubectl("apply", "-f", "-", stdin=manifest)
        yield slurm
    finally:
        slurm.kubectl("delete", "nodesets", "--all", "--timeout=120s")
        kubectl("delete", "namespace", namespace, "--timeout=120s")
