"""examples/06-nebius in a cluster: a Slurm whose jobs and logins share one root file system."""

import json
from collections.abc import Iterator

from dev.example import NAMESPACE, manifest
from dev.kubectl import Kubectl
from dev.progress import Say
from dev.proof import Proof, until

NAME = "fjord"
WORKERS = ("worker-0", "worker-1")


class JailExample:
    """The example in a namespace. Applying it again changes nothing."""

    def __init__(self, kubectl: Kubectl, registry: str, release: str) -> None:
        self._kubectl = kubectl
        self._manifest = manifest(registry, release, "06-nebius/cluster.yaml")

    def deploy(self, say: Say) -> None:
        say("applying the custom resource")
        space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}
        self._kubectl("apply", "-f", "-", stdin=json.dumps(space))
        self._ns("apply", "--server-side", "--force-conflicts", "-f", "-", stdin=self._manifest)
        say("waiting for the jail and every component")
        until("the cluster is available", lambda: self._phase() == "Available", self._seen)
        until("two idle workers", lambda: self._idle() == set(WORKERS), self._seen)

    def prove(self) -> Iterator[Proof]:
        """Each proof as it is made, by a user of the login node; a command that fails ends it."""
        yield Proof("kubectl get slurmclusters", self._ns("get", "slurmclusters").rstrip())
        yield self._login("srun", "-N2", "hostname")
        for worker, command in zip(WORKERS, ("hostname >/opt/note", "cat /opt/note"), strict=True):
            yield self._login("srun", "-w", worker, "sh", "-c", command)
        yield self._login("sacct", "-X", "-o", "jobid,jobname,nodelist,state")

    def _phase(self) -> str:
        return self._ns("get", "slurmcluster", NAME, "-o", "jsonpath={.status.phase}")

    def _idle(self) -> set[str]:
        return set(self._login("sinfo", "-h", "-N", "-p", "main", "-t", "idle", "-o", "%N").output.split())

    def _seen(self) -> str:
        return self._ns("get", "slurmclusters,pods", "-o", "wide")

    def _login(self, *command: str) -> Proof:
        words = " ".join(f"'{word}'" if " " in word else word for word in command)
        inside = ("chroot", "/mnt/jail", *command)
        return Proof(words, self._ns("exec", "login-0", "-c", "sshd", "--", *inside).rstrip())

    def _ns(self, *arguments: str, stdin: str | None = None) -> str:
        return self._kubectl(f"--namespace={NAMESPACE}", *arguments, stdin=stdin)
