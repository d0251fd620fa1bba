"""A private control plane for tests: etcd and kube-apiserver, more on request.

Each one lives on a loopback address of its own (127.x.y.z) with the usual ports, so any number of them can
run side by side and no port can be lost to a race: the address is held by a guard socket for as long as the
owner lives.
"""

import http.client
import random
import socket
import ssl
import subprocess
import time
from pathlib import Path
from types import TracebackType

from dev import binaries, components, files, paths, pki
from dev.components import Command, Plane
from dev.refusal import Refusal

START_SECONDS = 60
GUARD_PORT = 6442


class ControlPlane:
    """etcd + kube-apiserver in a folder; `with` starts and removes them.

    `start` and `stop` may be called in between: the data stay, as after a crash of the API server.
    """

    def __init__(self, folder: Path) -> None:
        self._guard = _reserve_address()
        self.plane = Plane(self._guard.getsockname()[0], folder)
        self.authority = pki.Authority(self.plane.pki)
        self.kubeconfig = self.user("admin", "admin", "system:masters")
        self._serving = self.authority.issue(
            "apiserver",
            "kube-apiserver",
            hosts=(self.plane.address, components.KUBERNETES_SERVICE, "localhost"),
        )
        pki.service_account_key(self.plane.pki)
        self._running: dict[str, subprocess.Popen[bytes]] = {}

    @property
    def server(self) -> str:
        return self.plane.server

    def user(self, file: str, name: str, group: str = "") -> Path:
        """A kubeconfig for any user the test likes to be."""
        pair = self.authority.issue(file, name, group)
        text = components.kubeconfig(self.plane.server, self.authority, pair)
        return files.write(self.plane.folder / f"{file}.kubeconfig", text, 0o600)

    def start(self) -> None:
        self._spawn("etcd", components.etcd(binaries.find("etcd"), self.plane))
        self.start_apiserver()

    def start_apiserver(self) -> None:
        # Finished with a test means finished: nothing is gained by draining requests.
        extra = (
            "--shutdown-delay-duration=0s",
            f"--audit-policy-file={self._audit_policy()}",
            f"--audit-log-path={self.audit_log}",
        )
        program = binaries.find("kube-apiserver")
        self._spawn("kube-apiserver", components.apiserver(program, self.plane, self._serving, extra))
        self._wait_ready()

    def start_controller_manager(self) -> None:
        config = self.user("controller-manager", "system:kube-controller-manager")
        program = binaries.find("kube-controller-manager")
        self._spawn("kube-controller-manager", components.controller_manager(program, self.plane, config))

    def start_kwok(self) -> None:
        """Fake kubelets: any node annotated kwok.x-k8s.io/node=fake is run by it, by the thousand."""
        command = [
            str(binaries.find("kwok")),
            f"--kubeconfig={self.kubeconfig}",
            f"--config={paths.ROOT / 'dev/kwok-stages.yaml'}",
            "--node-lease-duration-seconds=40",
            "--manage-nodes-with-annotation-selector=kwok.x-k8s.io/node=fake",
            f"--server-address={self.plane.address}:10247",
            "--cidr=10.245.0.1/16",
        ]
        self._spawn("kwok", command)

    @property
    def audit_log(self) -> Path:
        """One JSON line for each finished request: who asked what."""
        return self.plane.folder / "audit.log"

    def stop(self, name: str) -> None:
        process = self._running.pop(name)
        process.kill()
        process.wait()

    def kubectl(self, *arguments: str, stdin: str | None = None) -> str:
        command = [str(binaries.find("kubectl")), f"--kubeconfig={self.kubeconfig}", *arguments]
        done = subprocess.run(command, capture_output=True, text=True, input=stdin, check=False)
        if done.returncode:
            raise AssertionError(f"kubectl {' '.join(arguments)}: {done.stderr.strip()}")
        return done.stdout

    def __enter__(self) -> "ControlPlane":
        try:
            self.start()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        for name in list(self._running)[::-1]:
            self.stop(name)
        self._guard.close()

    def _spawn(self, name: str, command: Command) -> None:
        # A killed test process takes its control plane with it.
        command = ["setpriv", "--pdeathsig", "KILL", *command]
        with (self.plane.folder / f"{name}.log").open("ab") as log:
            self._running[name] = subprocess.Popen(command, stdout=log, stderr=log)

    def _audit_policy(self) -> Path:
        rules = "omitStages: [RequestReceived]\nrules: [{level: Metadata}]\n"
        policy = f"apiVersion: audit.k8s.io/v1\nkind: Policy\n{rules}"
        return files.write(self.plane.folder / "audit-policy.yaml", policy)

    def _wait_ready(self) -> None:
        trust = ssl.create_default_context(cafile=str(self.authority.pair.certificate))
        admin = self.authority.issue("admin", "admin")
        trust.load_cert_chain(admin.certificate, admin.key)
        deadline = time.monotonic() + START_SECONDS
        while not _ready(self.plane.address, trust):
            dead = next((n for n, p in self._running.items() if p.poll() is not None), None)
            if dead or time.monotonic() > deadline:
                log = self.plane.folder / f"{dead or 'kube-apiserver'}.log"
                tail = "\n".join(log.read_text(errors="replace").splitlines()[-5:])
                raise Refusal(f"{dead or 'kube-apiserver'} did not start, see {log}:\n{tail}")
            time.sleep(0.05)


def _ready(address: str, trust: ssl.SSLContext) -> bool:
    connection = http.client.HTTPSConnection(address, 6443, timeout=2, context=trust)
    try:
        connection.request("GET", "/readyz")
        return connection.getresponse().status == 200
    except OSError:
        return False
    finally:
        connection.close()


def _reserve_address() -> socket.socket:
    """Hold a loopback address that nobody else holds."""
    while True:
        guard = socket.socket()
        address = f"127.{random.randrange(1, 255)}.{random.randrange(1, 255)}.{random.randrange(1, 255)}"  # noqa: S311
        try:
            guard.bind((address, GUARD_PORT))
        except OSError:
            guard.close()
        else:
            return guard
