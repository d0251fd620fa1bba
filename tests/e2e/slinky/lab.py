"""A Slurm cluster by Slinky's API in a namespace of its own, asked and changed as its users do.

Jobs here end when the test says so (`hold`, `release`), never because some time has passed.
"""

import base64
import json
import subprocess
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

import yaml

from dev import example as published
from dev import operator
from dev.cluster import Cluster
from dev.example import keys
from dev.kubectl import Completed, Kubectl
from dev.refusal import Refusal
from dev.target import LOCAL, release

SECONDS: Final = 240
LEAVING: Final[list[str]] = []
"""Namespaces that were deleted, and must be gone in the end."""
FORCE: Final = "slurmery/force-delete"
# Runs until `release` leaves a file for it in the worker; whoever ends it earlier has lost it.
_HELD: Final = "until [ -e /tmp/go-$SLURM_JOB_ID ]; do sleep 0.3; done"


class Slurm:
    """The example cluster, asked from inside."""

    def __init__(self, kubectl: Kubectl, namespace: str) -> None:
        self._kubectl = kubectl
        self.namespace = namespace

    def kubectl(self, *arguments: str, stdin: str | None = None) -> str:
        return self._kubectl(f"--namespace={self.namespace}", *arguments, stdin=stdin)

    def attempt(self, *arguments: str, stdin: str | None = None, seconds: float = 60) -> Completed:
        """What may well be refused."""
        return self._kubectl.attempt(
            f"--namespace={self.namespace}", *arguments, stdin=stdin, seconds=seconds
        )

    def apply(self, *objects: dict[str, Any]) -> None:
        self.kubectl("apply", "-f", "-", stdin=manifest(*objects))

    def patch(self, kind: str, name: str, spec: dict[str, Any]) -> None:
        self.kubectl("patch", kind, name, "--type=merge", "-p", json.dumps({"spec": spec}))

    def get(self, *what: str) -> Any:
        return json.loads(self.kubectl("get", *what, "-o", "json"))

    def run(self, *command: str) -> str:
        return self.kubectl("exec", "slurm-controller-0", "-c", "slurmctld", "--", *command)

    def states(self) -> dict[str, str]:
        """By node; without the mark for one that does not respond just now."""
        lines = self.run("sinfo", "-h", "-N", "-o", "%N %T").splitlines()
        return dict(line.rstrip("*").split() for line in lines)

    def reason(self, node: str) -> str:
        return self.run("sinfo", "-h", "-N", "-n", node, "-o", "%E").strip().partition("\n")[0]

    def workers(self, nodeset: str = "") -> dict[str, Any]:
        chosen = "app.kubernetes.io/name=slurmd" + (
            f",app.kubernetes.io/instance={nodeset}" if nodeset else ""
        )
        return {pod["metadata"]["name"]: pod for pod in self.get("pods", "-l", chosen)["items"]}

    def uids(self, nodeset: str = "") -> dict[str, str]:
        """Pods by name, without those that are on their way out."""
        workers = self.workers(nodeset).items()
        return {
            name: pod["metadata"]["uid"]
            for name, pod in workers
            if "deletionTimestamp" not in pod["metadata"]
        }

    def ready(self, nodeset: str = "") -> set[str]:
        return {name for name, pod in self.workers(nodeset).items() if is_ready(pod)}

    def idling(self) -> set[str]:
        """The nodes that are idle to Slurm."""
        return {node for node, state in self.states().items() if state == "idle"}

    def idle(self, *nodes: str) -> bool:
        """They are idle to Slurm and ready to Kubernetes: an unready one would be the first to go."""
        return self.idling().issuperset(nodes) and self.ready().issuperset(nodes)

    def settled(self) -> bool:
        """Both workers of the example are idle, and there is no other."""
        return self.idle("workers-0", "workers-1") and len(self.states()) == 2

    def wait(self, what: str, holds: Callable[[], bool], seconds: float = SECONDS) -> None:
        deadline = time.monotonic() + seconds
        while True:
            reason = ""
            try:
                if holds():
                    return
            except Refusal as refusal:
                reason = str(refusal)
            assert time.monotonic() < deadline, f"{what} {reason}\n{self.situation()}"
            time.sleep(0.5)

    def situation(self) -> str:
        """All that explains a failure."""
        said = '{range .status.conditions[*]}{"\\n  "}{.type}={.status} {.reason}: {.message}{end}'
        path = f'{{range .items[*]}}{{.kind}}/{{.metadata.name}}{said}{{"\\n"}}{{end}}'
        asked = [
            self.attempt("get", "pods", "-o", "wide"),
            self.attempt("get", "controllers,nodesets,restapis", "-o", f"jsonpath={path}"),
            *(
                self.attempt("exec", "slurm-controller-0", "-c", "slurmctld", "--", *command, seconds=20)
                for command in (("sinfo", "-N", "-o", "%N %T %E"), ("scontrol", "-o", "show", "jobs"))
            ),
            self._kubectl.attempt(
                f"--namespace={operator.NAMESPACE}", "logs", "deployment/slurmery", "--tail=30"
            ),
        ]
        return "\n".join(each.stdout + each.stderr for each in asked)

    def condition(self, kind: str, name: str = "workers", of: str = "nodeset") -> str:
        path = f"jsonpath={{.status.conditions[?(@.type=='{kind}')].message}}"
        return self.kubectl("get", of, name, "-o", path)

    def hold(self, node: str, partition: str, pod: str = "") -> "Job":
        """A job that runs on the node, in the pod of that name or another, until it is released."""
        job = Job(self, self.submit("-p", partition, "-w", node), node, pod or node)
        self.wait(f"job {job.number} runs on {node}", lambda: job.state() == "RUNNING")
        return job

    def submit(self, *options: str) -> str:
        line = ("sbatch", "--parsable", "--no-requeue", "-o", "/dev/null", *options, "--wrap", _HELD)
        return self.run(*line).strip()

    def make_keys(self) -> None:
        self.kubectl("apply", "-f", "-", stdin=keys())

    def set_key(self, name: str, value: bytes) -> None:
        data = {name: base64.b64encode(value).decode()}
        self.kubectl("patch", "secret", "slurm-keys", "--type=merge", "-p", json.dumps({"data": data}))


class Job:
    """A job that was put on a node and held there."""

    def __init__(self, slurm: Slurm, number: str, node: str, pod: str) -> None:
        self._slurm = slurm
        self.number = number
        self.node = node
        self.pod = pod

    def record(self) -> dict[str, str]:
        words = self._slurm.run("scontrol", "-o", "show", "job", self.number).split()
        return dict(word.partition("=")[::2] for word in words)

    def state(self) -> str:
        return self.record().get("JobState", "")

    def alive(self) -> bool:
        """Its process still runs in the worker, whatever Slurm knows of it."""
        seek = f"grep -lz '/job{self.number:0>5}/slurm_script' /proc/[0-9]*/cmdline"
        return bool(self._slurm.attempt("exec", self.pod, "-c", "slurmd", "--", "sh", "-c", seek).stdout)

    def release(self) -> None:
        self._slurm.kubectl("exec", self.pod, "-c", "slurmd", "--", "touch", f"/tmp/go-{self.number}")

    def completes(self) -> None:
        """Let it end, and see that it was never touched."""
        self.release()
        self._slurm.wait(f"job {self.number} ends", lambda: self.state() not in ("RUNNING", "COMPLETING"))
        record = self.record()
        ended = record["JobState"], record["ExitCode"], record["Restarts"], record["BatchHost"]
        assert ended == ("COMPLETED", "0:0", "0", self.node), self._slurm.situation()


def is_ready(pod: dict[str, Any]) -> bool:
    conditions = pod["status"].get("conditions", ())
    return any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)


def signal(cluster: Cluster, pod: dict[str, Any], name: str) -> None:
    """Send a signal to all processes of a pod's first container, from outside: they cannot refuse any."""
    container = pod["status"]["containerStatuses"][0]["containerID"].rpartition("/")[2]
    kill = ("ctr", "-n", "k8s.io", "tasks", "kill", "--all", "--signal", name, container)
    in_node(cluster, pod["spec"]["nodeName"], *kill)


def in_node(cluster: Cluster, node: str, *command: str) -> None:
    subprocess.run(cluster.sandbox.enter(*command, node=node), check=True, capture_output=True)


def renamed(cluster: Cluster, image: str) -> str:
    """Another name of the same image, on both nodes: Kubernetes takes it for another one."""
    other = f"{image}-next"
    for node in ("node-0", "node-1"):
        in_node(cluster, node, "ctr", "-n", "k8s.io", "images", "tag", "--force", image, other)
    return other


def example(*kinds: str) -> list[dict[str, Any]]:
    """The objects of the example, or those of them that are of these kinds."""
    text = published.manifest(LOCAL, release())
    return [each for each in yaml.safe_load_all(text) if not kinds or each["kind"] in kinds]


def nodeset(name: str, replicas: int = 1, **spec: Any) -> dict[str, Any]:
    """The example's NodeSet by another name; several workers may share a Kubernetes node."""
    (given,) = example("NodeSet")
    here = {"replicas": replicas, "oversubscribeNode": True, "partition": {"enabled": True}}
    return {**given, "metadata": {"name": name}, "spec": {**given["spec"], **here, **spec}}


def controller(extra_conf: str = "", **spec: Any) -> dict[str, Any]:
    """The example's Controller with more lines in slurm.conf."""
    (given,) = example("Controller")
    written = given["spec"]["extraConf"] + extra_conf
    return {**given, "spec": {**given["spec"], "extraConf": written, **spec}}


def manifest(*objects: dict[str, Any]) -> str:
    """Objects as kubectl takes them."""
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": objects})


def unique(name: str) -> str:
    """A namespace that no other test has, at the same time or left behind."""
    return f"{name}-{uuid.uuid4().hex[:6]}"


@contextmanager
def slurm_cluster(kubectl: Kubectl, name: str, manifest: str) -> Iterator[Slurm]:
    """What the manifest describes, in a new namespace; it goes afterwards, jobs or not, and nobody waits."""
    namespace = unique(name)
    kubectl("create", "namespace", namespace)
    slurm = Slurm(kubectl, namespace)
    try:
        slurm.make_keys()
        slurm.kubectl("apply", "-f", "-", stdin=manifest)
        yield slurm
    finally:
        slurm.kubectl("annotate", "nodesets", "--all", "--overwrite", f"{FORCE}=true")
        kubectl("delete", "namespace", namespace, "--wait=false")
        LEAVING.append(namespace)
