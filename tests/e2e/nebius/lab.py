"""Clusters of Soperator's API, each in a namespace of its own, asked as their users do."""

import json
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

import yaml

from dev import example
from dev.kubectl import Kubectl
from dev.refusal import Refusal
from dev.target import LOCAL, release

SECONDS: Final = 300
PREFIX: Final = "topology.nebius.com"


@dataclass(frozen=True)
class Slurm:
    """A cluster, asked from inside; its workloads have its name before theirs if they are `prefixed`."""

    kube: Kubectl
    namespace: str
    name: str
    prefixed: bool = False

    def kubectl(self, *arguments: str, stdin: str | None = None) -> str:
        return self.kube(f"--namespace={self.namespace}", *arguments, stdin=stdin)

    def run(self, *command: str, pod: str = "login-0", container: str = "sshd") -> str:
        """What a login node's user sees: the jail is the root."""
        inside = ("chroot", "/mnt/jail", *command) if container == "sshd" else command
        found = f"{self.name}-{pod}" if self.prefixed else pod
        return self.kubectl("exec", found, "-c", container, "--", *inside)

    def control(self, *command: str) -> str:
        """What root sees beside slurmctld."""
        return self.run(*command, pod="controller-0", container="slurmctld")

    def get(self, kind: str, name: str = "") -> Any:
        return json.loads(self.kubectl("get", kind, *((name,) if name else ()), "-o", "json"))

    def patch(self, spec: dict[str, object]) -> None:
        """A change of the cluster's spec."""
        words = json.dumps({"spec": spec})
        self.kubectl("patch", "slurmcluster", self.name, "--type=merge", "-p", words)

    def phase(self) -> str:
        return str(self.get("slurmcluster", self.name).get("status", {}).get("phase"))

    def states(self, partition: str = "main") -> dict[str, str]:
        lines = self.run("sinfo", "-h", "-N", "-p", partition, "-o", "%N %T").splitlines()
        return dict(line.split() for line in lines)

    def topology(self) -> str:
        """The network as Slurm knows it."""
        return self.run("scontrol", "show", "topology")

    def pods(self) -> dict[str, str]:
        """The uid of each pod."""
        return {each["metadata"]["name"]: each["metadata"]["uid"] for each in self.get("pods")["items"]}

    def host(self, pod: str) -> str:
        """The Kubernetes node that a pod runs on."""
        return str(self.get("pod", pod)["spec"]["nodeName"])

    def restarts(self) -> int:
        """How often any container was started anew."""
        statuses = [each["status"].get("containerStatuses", ()) for each in self.get("pods")["items"]]
        return sum(one["restartCount"] for each in statuses for one in each)

    def wait(self, what: str, holds: Callable[[], bool]) -> None:
        deadline = time.monotonic() + SECONDS
        while True:
            try:
                if holds():
                    return
                reason = self.kubectl("get", "pods", "-o", "wide")
            except Refusal as refusal:
                reason = str(refusal)
            assert time.monotonic() < deadline, f"{what}: {reason}"
            time.sleep(0.5)


@contextmanager
def labelled(kube: Kubectl, tiers: Mapping[str, Mapping[int, str]]) -> Iterator[None]:
    """Kubernetes nodes with labels that tell their places in the network."""
    for node, places in tiers.items():
        kube(
            "label", "node", node, "--overwrite", *(f"{PREFIX}/tier-{n}={name}" for n, name in places.items())
        )
    try:
        yield
    finally:
        for node, places in tiers.items():
            kube("label", "node", node, *(f"{PREFIX}/tier-{n}-" for n in places))


@contextmanager
def deployed(
    kube: Kubectl, file: str, name: str, change: Callable[[Any], None], *, prefixed: bool = False
) -> Iterator[Slurm]:
    """The cluster of an example, available; `change` is what else its spec says."""
    documents = list(yaml.safe_load_all(example.manifest(LOCAL, release(), file)))
    change(next(each for each in documents if each["kind"] == "SlurmCluster")["spec"])
    slurm = Slurm(kube, f"{name}-{uuid.uuid4().hex[:6]}", name, prefixed)
    kube("create", "namespace", slurm.namespace)
    try:
        slurm.kubectl("apply", "-f", "-", stdin=yaml.safe_dump_all(documents))
        slurm.wait("the cluster is available", lambda: slurm.phase() == "Available")
        yield slurm
    finally:
        kube("delete", "namespace", slurm.namespace, "--timeout=120s")
