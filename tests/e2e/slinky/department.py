"""The example with accounting and logins, and what its users and administrators look at."""

import json
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

from dev import example as published
from dev.kubectl import Kubectl
from dev.target import LOCAL, release
from tests.e2e.slinky.lab import Slurm, slurm_cluster
from tests.e2e.slinky.laptop import Laptop

_EXAMPLE: Final = "02-accounting/cluster.yaml"
_NOBODYS_KEY: Final = "# ssh-ed25519 AAAA... ada@example.org"


@dataclass(frozen=True)
class Department:
    """The cluster, and how its users see it."""

    slurm: Slurm
    laptop: Laptop

    def ssh(self, *command: str) -> str:
        """What a command prints on the login node."""
        return self.laptop.ssh(self.slurm, "root@login", *command)

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
def department(kubectl: Kubectl) -> Iterator[Department]:
    """The example as it is, but for the key that opens the login node."""
    laptop = Laptop.new()
    example = published.manifest(LOCAL, release(), _EXAMPLE)
    assert _NOBODYS_KEY in example
    manifests = [
        _secret("slurm-database", password=secrets.token_urlsafe(24)),
        _secret("slurm-users", **{"sssd.conf": "[sssd]\n"}),
        laptop.manifest,
        example.replace(_NOBODYS_KEY, laptop.public),
    ]
    with slurm_cluster(kubectl, "department", "\n---\n".join(manifests)) as slurm:
        this = Department(slurm, laptop)
        slurm.wait("two idle workers", slurm.settled)
        slurm.wait("the login node", lambda: this.ready("loginset", "login"))
        laptop.arrive(slurm)
        yield this


def _secret(name: str, **content: str) -> str:
    metadata = {"name": name}
    return json.dumps({"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "stringData": content})
