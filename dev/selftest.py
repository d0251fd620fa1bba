"""Proves a cluster: a whole Slurm from plain manifests, and srun, sbatch, sacct and REST through it."""

import base64
import hashlib
import hmac
import json
import secrets
import time
from collections.abc import Iterator
from string import Template

from dev import paths
from dev.kubectl import Kubectl
from dev.progress import Say
from dev.proof import Proof, ping
from dev.refusal import Refusal

NAMESPACE = "slurmery-selftest"
WORKLOADS = (
    "statefulset/mariadb",
    "statefulset/slurmdbd",
    "statefulset/slurmctld",
    "statefulset/slurmd",
    "deployment/slurmrestd",
)
READY_SECONDS = 180


class SelfTest:
    """Slurm in a namespace of a cluster. Applying it again changes nothing."""

    def __init__(self, kubectl: Kubectl, registry: str, release: str, namespace: str = NAMESPACE) -> None:
        self._kubectl = kubectl
        self._namespace = namespace
        self._values = {"REGISTRY": registry, "RELEASE": release, "NAMESPACE": namespace}

    def deploy(self, say: Say) -> None:
        say("applying the manifests")
        self._kubectl("apply", "-f", "-", stdin=_manifest("v1", "Namespace", self._namespace))
        if self._ns_attempt("get", "secret", "slurm-keys"):
            self._ns("create", "-f", "-", stdin=_keys())
        text = (paths.ROOT / "dev/selftest.yaml").read_text()
        self._ns("apply", "--server-side", "-f", "-", stdin=Template(text).substitute(self._values))
        for workload in WORKLOADS:
            say(f"waiting for {workload}")
            self._ns("rollout", "status", workload, f"--timeout={READY_SECONDS}s", seconds=READY_SECONDS + 10)
        say("waiting for the nodes to register")
        self._until_idle()

    def prove(self) -> Iterator[Proof]:
        """Each proof as it is made; a command that fails ends it with its output."""
        yield self._slurm("sinfo")
        yield self._slurm("srun", "-N2", "hostname")
        submitted = self._slurm("sbatch", "--parsable", "--wait", "-o", "/dev/null", "--wrap", "sleep 1")
        yield submitted
        job = submitted.output.split()[0]
        yield self._accounted(job)
        yield self._ping()

    def remove(self) -> None:
        self._kubectl("delete", "namespace", self._namespace, "--ignore-not-found", "--wait=false")

    def _accounted(self, job: str) -> Proof:
        columns = "--format=JobID,JobName,Partition,State,ExitCode,NodeList"
        deadline = time.monotonic() + 30
        while True:
            proof = self._slurm("sacct", "-X", "-j", job, columns)
            if "COMPLETED" in proof.output:
                return proof
            if time.monotonic() > deadline:
                raise Refusal(f"job {job} is not in the accounting database:\n{proof.output}")
            time.sleep(0.5)

    def _ping(self) -> Proof:
        keys = json.loads(self._ns("get", "secret", "slurm-keys", "-o", "json"))["data"]
        token = sign(base64.b64decode(keys["jwt.key"]), "slurm", int(time.time()))
        return ping(self._kubectl, self._namespace, "slurmrestd", token)

    def _until_idle(self) -> None:
        deadline = time.monotonic() + READY_SECONDS
        while (states := self._slurm("sinfo", "-h", "-N", "-o", "%T").output.split()) != ["idle", "idle"]:
            if time.monotonic() > deadline:
                raise Refusal(f"the Slurm nodes did not become idle: {states}")
            time.sleep(0.3)

    def _slurm(self, *command: str) -> Proof:
        output = self._ns("exec", "slurmctld-0", "-c", "slurmctld", "--", *command)
        return Proof(" ".join(command), output.rstrip())

    def _ns(self, *arguments: str, stdin: str | None = None, seconds: float = 180) -> str:
        return self._kubectl(f"--namespace={self._namespace}", *arguments, stdin=stdin, seconds=seconds)

    def _ns_attempt(self, *arguments: str) -> int:
        return self._kubectl.attempt(f"--namespace={self._namespace}", *arguments).returncode


def sign(key: bytes, user: str, now: int) -> str:
    """A Slurm token (HS256) good for ten minutes."""
    claims = {"exp": now + 600, "iat": now, "sun": user}
    body = b".".join(
        _base64url(json.dumps(part).encode()) for part in ({"alg": "HS256", "typ": "JWT"}, claims)
    )
    return b".".join((body, _base64url(hmac.digest(key, body, hashlib.sha256)))).decode()


def _base64url(data: bytes) -> bytes:
    return base64.urlsafe_b64encode(data).rstrip(b"=")


def _keys() -> str:
    """The cluster's secrets, made once: a restart of the self-test must not lock out what runs."""
    password = secrets.token_urlsafe(24)
    slurmdbd_conf = (
        "DbdHost=slurmdbd-0\nSlurmUser=slurm\nAuthType=auth/slurm\nAuthInfo=use_client_ids\n"
        "AuthAltTypes=auth/jwt\nAuthAltParameters=jwt_key=/etc/slurm/jwt.key\nLogFile=/dev/null\n"
        "StorageType=accounting_storage/mysql\nStorageHost=mariadb\nStorageUser=slurm\n"
        f"StorageLoc=slurm_acct_db\nStoragePass={password}\n"
    )
    data = {
        "slurm.key": secrets.token_bytes(1024),
        "jwt.key": secrets.token_bytes(32),
        "password": password.encode(),
        "slurmdbd.conf": slurmdbd_conf.encode(),
    }
    encoded = {name: base64.b64encode(value).decode() for name, value in data.items()}
    return _manifest("v1", "Secret", "slurm-keys", data=encoded)


def _manifest(api_version: str, kind: str, name: str, **fields: object) -> str:
    return json.dumps({"apiVersion": api_version, "kind": kind, "metadata": {"name": name}, **fields})
