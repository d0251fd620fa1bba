"""The example with accounting and logins, whose users have a laptop: a pod with an SSH client and a key."""

import json
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)

from dev import paths
from dev.kubectl import Kubectl
from tests.e2e.conftest import sleeper
from tests.e2e.slinky.lab import Slurm, slurm_cluster

_EXAMPLE: Final = paths.ROOT / "examples/02-accounting/cluster.yaml"
_NOBODYS_KEY: Final = "# ssh-ed25519 AAAA... ada@example.org"
# The server is trusted when it is first seen, and has to be the same ever after.
_SSH: Final = ("ssh", "-o", "StrictHostKeyChecking=accept-new", "-o", "BatchMode=yes", "root@login")


@dataclass(frozen=True)
class Department:
    """The cluster, and how its users see it."""

    slurm: Slurm

    def ssh(self, *command: str) -> str:
        """What a command prints on the login node."""
        return self.slurm.kubectl("exec", "laptop", "--", *_SSH, *command)

    def job(self) -> str:
        """A job that has ended."""
        command = ("sbatch", "--parsable", "--wait", "-o", "/dev/null", "--wrap", "true")
        return self.slurm.run(*command).strip()

    def recorded(self, job: str) -> bool:
        """Whether the database has the end of a job."""
        return self.slurm.run("sacct", "-n", "-X", "-P", "-j", job, "-o", "State").strip() == "COMPLETED"

    def pods(self, daemon: str) -> list[dict[str, Any]]:
        listed = self.slurm.kubectl("get", "pods", "-l", f"app.kubernetes.io/name={daemon}", "-o", "json")
        items: list[dict[str, Any]] = json.loads(listed)["items"]
        return items

    def ready(self, kind: str, name: str) -> bool:
        path = "jsonpath={.status.conditions[?(@.type=='Ready')].status}"
        return self.slurm.kubectl("get", kind, name, "-o", path) == "True"


@contextmanager
def department(kubectl: Kubectl, namespace: str) -> Iterator[Department]:
    """The example as it is, but for the key that opens the login node."""
    key = Ed25519PrivateKey.generate()
    public = key.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH).decode()
    example = _EXAMPLE.read_text()
    assert _NOBODYS_KEY in example
    manifests = [
        _secret("slurm-database", password=secrets.token_urlsafe(24)),
        _secret("slurm-users", **{"sssd.conf": "[sssd]\n"}),
        sleeper("laptop"),
        example.replace(_NOBODYS_KEY, public),
    ]
    with slurm_cluster(kubectl, namespace, "\n---\n".join(manifests)) as slurm:
        this = Department(slurm)
        slurm.wait("two idle workers", slurm.settled)
        slurm.wait("the login node", lambda: this.ready("loginset", "login"))
        private = key.private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, NoEncryption()).decode()
        store = "umask 077 && mkdir -p ~/.ssh && cat >~/.ssh/id_ed25519"
        slurm.kubectl("exec", "-i", "laptop", "--", "sh", "-c", store, stdin=private)
        yield this


def _secret(name: str, **content: str) -> str:
    metadata = {"name": name}
    return json.dumps({"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "stringData": content})
