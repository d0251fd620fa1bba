"""A user's machine: a pod with an SSH client and a key."""

from dataclasses import dataclass

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)

from tests.e2e.conftest import sleeper
from tests.e2e.slinky.lab import Slurm

# A server is trusted when it is first seen, and has to be the same ever after.
_SSH = 'ssh -o StrictHostKeyChecking=accept-new -o BatchMode=yes "$@" 2>&1 || :'


@dataclass(frozen=True)
class Laptop:
    """The pod's manifest and the public key come before the cluster, `arrive` and `ssh` with it."""

    public: str
    private: str

    @classmethod
    def new(cls) -> "Laptop":
        key = Ed25519PrivateKey.generate()
        public = key.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH)
        private = key.private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, NoEncryption())
        return cls(public.decode(), private.decode())

    @property
    def manifest(self) -> str:
        return sleeper("laptop")

    def arrive(self, slurm: Slurm) -> None:
        slurm.kubectl("wait", "pod/laptop", "--for=condition=Ready", "--timeout=60s")
        store = "umask 077 && mkdir -p ~/.ssh && cat >~/.ssh/id_ed25519"
        slurm.kubectl("exec", "-i", "laptop", "--", "sh", "-c", store, stdin=self.private)

    def ssh(self, slurm: Slurm, *arguments: str) -> str:
        """What comes back, be it the command's output or the reason for a refusal."""
        return slurm.kubectl("exec", "laptop", "--", "sh", "-c", _SSH, "ssh", *arguments)
