"""The example cluster of Soperator's API in a namespace of its own, asked as its users do."""

import json
import time
from collections.abc import Callable
from typing import Any, Final

from dev.kubectl import Kubectl
from dev.refusal import Refusal

SECONDS: Final = 300
NAME: Final = "fjord"


class Slurm:
    """The cluster, asked from inside."""

    def __init__(self, kubectl: Kubectl, namespace: str) -> None:
        self._kubectl = kubectl
        self.namespace = namespace

    def kubectl(self, *arguments: str, stdin: str | None = None) -> str:
        return self._kubectl(f"--namespace={self.namespace}", *arguments, stdin=stdin)

    def run(self, *command: str, pod: str = "login-0", container: str = "sshd") -> str:
        """What a login node's user sees: the jail is the root."""
        inside = ("chroot", "/mnt/jail", *command) if container == "sshd" else command
        return self.kubectl("exec", pod, "-c", container, "--", *inside)

    def get(self, kind: str, name: str = "") -> Any:
        return json.loads(self.kubectl("get", kind, *((name,) if name else ()), "-o", "json"))

    def phase(self) -> str:
        return str(self.get("slurmcluster", NAME).get("status", {}).get("phase"))

    def states(self) -> dict[str, str]:
        lines = self.run("sinfo", "-h", "-N", "-p", "main", "-o", "%N %T").splitlines()
        return dict(line.split() for line in lines)

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
