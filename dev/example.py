"""examples/01-slinky in a cluster: a Slurm that the operator makes, and what its users do with it."""

import base64
import json
import secrets
from collections.abc import Callable, Iterator
from functools import partial

from dev import images, paths
from dev.kubectl import Kubectl
from dev.progress import Say
from dev.proof import Proof, ping, until

NAMESPACE = "slurmery-demo"
KINDS = "controllers,nodesets,loginsets,accountings,restapis,tokens"
JOB_SECONDS = 4
_PUBLISHED = "ghcr.io/slurmery/"


def manifest(registry: str, release: str, name: str = "01-slinky/cluster.yaml") -> str:
    """An example, with images that nodes find in this registry."""
    text = (paths.ROOT / "examples" / name).read_text()
    newest = next(iter(images.RELEASES))
    for before, after in (
        (_PUBLISHED, f"{registry}/"),
        (f":{newest}", f":{release}"),
        (f'"{newest}"', f'"{release}"'),
    ):
        text = text.replace(before, after)
    return text


class Example:
    """The example in a namespace. Applying it again changes nothing."""

    def __init__(self, kubectl: Kubectl, registry: str, release: str) -> None:
        self._kubectl = kubectl
        self._manifest = manifest(registry, release)

    def deploy(self, say: Say) -> None:
        say("applying the custom resources")
        space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}
        self._kubectl("apply", "-f", "-", stdin=json.dumps(space))
        if self._kubectl.attempt(f"--namespace={NAMESPACE}", "get", "secret", "slurm-keys").returncode:
            self._ns("create", "-f", "-", stdin=keys())
        self._ns("apply", "--server-side", "--force-conflicts", "-f", "-", stdin=self._manifest)
        say("waiting for slurmctld and the workers")
        self._until("two idle workers", lambda: self._states() == {"workers-0": "idle", "workers-1": "idle"})

    def prove(self) -> Iterator[Proof]:
        """Each proof as it is made; a command that fails ends it with its output."""
        yield self._slurm("sinfo")
        yield self._slurm("srun", "-N2", "hostname")
        # No job needs them, so nobody has waited for them yet.
        for workload in ("deployment/slurm-restapi", "deployment/login"):
            self._until(f"{workload} is ready", partial(self._rolled_out, workload))
        yield Proof(f"kubectl get {KINDS}", self._ns("get", KINDS).rstrip())
        yield self._ping()
        yield from self._scale_in()

    def _scale_in(self) -> Iterator[Proof]:
        """A worker that is not wanted any more finishes its job first."""
        script = f"sleep {JOB_SECONDS}; echo done"
        job = self._slurm(
            "sbatch", "--parsable", "-w", "workers-1", "-o", "/dev/null", "--wrap", script
        ).output.split()[0]
        self._until("the job runs", lambda: "RUNNING" in self._queue(job))
        yield Proof(f"sbatch -w workers-1 --wrap '{script}'", f"Submitted batch job {job}")
        yield self._scale(1)
        self._until("the worker drains", lambda: "drain" in self._states().get("workers-1", "drained"))
        yield self._slurm("sinfo", "-N")
        self._until("the worker has left", lambda: "workers-1" not in self._pods())
        ended = self._slurm("scontrol", "show", "job", job).output
        state = next(word for word in ended.split() if word.startswith("JobState="))
        yield Proof(f"scontrol show job {job}    # after the worker has left", state)
        yield self._scale(2)

    def _scale(self, replicas: int) -> Proof:
        command = ("scale", "nodeset", "workers", f"--replicas={replicas}")
        return Proof(f"kubectl {' '.join(command)}", self._ns(*command).rstrip())

    def _ping(self) -> Proof:
        found = json.loads(self._ns("get", "secret", "admin-token", "-o", "json"))["data"]
        token = base64.b64decode(found["SLURM_JWT"]).decode()
        return ping(self._kubectl, NAMESPACE, "slurm-restapi", token)

    def _states(self) -> dict[str, str]:
        lines = self._slurm("sinfo", "-h", "-N", "-o", "%N %T").output.splitlines()
        return dict(line.split() for line in lines)

    def _rolled_out(self, workload: str) -> bool:
        return bool(self._ns("rollout", "status", workload, "--timeout=30s"))

    def _queue(self, job: str) -> str:
        return self._slurm("squeue", "-h", "-j", job, "-o", "%T").output

    def _pods(self) -> list[str]:
        return self._ns("get", "pods", "-o", "jsonpath={.items[*].metadata.name}").split()

    def _until(self, what: str, holds: Callable[[], bool]) -> None:
        until(what, holds, lambda: self._ns("get", f"{KINDS},pods", "-o", "wide"))

    def _slurm(self, *command: str) -> Proof:
        output = self._ns("exec", "slurm-controller-0", "-c", "slurmctld", "--", *command)
        return Proof(" ".join(command), output.rstrip())

    def _ns(self, *arguments: str, stdin: str | None = None) -> str:
        return self._kubectl(f"--namespace={NAMESPACE}", *arguments, stdin=stdin)


def keys() -> str:
    """The Secret that the example names, made once: new keys would lock out what runs."""
    made = {"slurm.key": secrets.token_bytes(1024), "jwt.key": secrets.token_bytes(32)}
    data = {name: base64.b64encode(value).decode() for name, value in made.items()}
    return json.dumps(
        {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "slurm-keys"}, "data": data}
    )
