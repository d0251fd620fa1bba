"""Slurm without Kubernetes: daemons of our images in namespaces of their own, on loopback ports.

The namespaces end with the process that made them, so nothing outlives a test or a benchmark, whatever kills
it.
"""

import contextlib
import json
import os
import random
import secrets
import socket
import subprocess
import tarfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from dev import images, paths

SLURM: Final = "slurmctld"
_SLURM_UID: Final = 401
_BLOCK: Final = 16
_NAMESPACES: Final = ("--mount", "--pid", "--uts", "--fork", "--kill-child", "--propagation", "private")

_CONF: Final = """\
ClusterName=lab
SlurmctldHost=ctl(127.0.0.1)
SlurmctldPort={ctld}
AuthType=auth/slurm
CredType=cred/slurm
AuthInfo=use_client_ids
AuthAltTypes=auth/jwt
AuthAltParameters=jwt_key=/etc/slurm/jwt_hs256.key
CommunicationParameters=NoInAddrAny,NoCtldInAddrAny
SlurmUser=slurm
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU_Memory
StateSaveLocation=/var/spool/slurmctld
SlurmctldPidFile=/run/slurmctld/pid
SlurmctldLogFile=/var/log/slurmctld.log
GresTypes=gpu
PartitionName=all Nodes=ALL Default=YES State=UP
"""

# The arguments are the roots of the images. What a script starts ends with it: it is PID 1 of its namespace.
_ROOTS: Final = """\
hostname ctl
for root in "$@"; do
  mount -t proc proc "$root/proc"; mount --rbind /dev "$root/dev"; mount -t tmpfs tmpfs "$root/run"
done
install -d -o 401 -g 401 "$1/run/slurmctld" "$1/run/slurmdbd"
install -d "$1/run/slurm"
listening() { until bash -c "exec 3<>/dev/tcp/127.0.0.1/$1" 2>/dev/null; do sleep 0.2; done; }
"""


@dataclass(frozen=True)
class Plan:
    """What kind of cluster it is.

    `conf` and `script` may name ports in braces: ctld, rest and those of `ports`. The script finds Slurm's
    root in $1, those of the `others` images after it, and can wait for a port with `listening`.
    """

    conf: str
    script: str
    ports: tuple[str, ...] = ()
    others: tuple[str, ...] = ()


class SlurmLab:
    """One Slurm: slurmctld, slurmrestd, and whatever else its plan has."""

    def __init__(self, release: str, folder: Path, plan: Plan) -> None:
        self.release = release
        self.roots: Mapping[str, Path] = {name: folder / name for name in (SLURM, *plan.others)}
        self._guard = _reserve()
        first = self._guard.getsockname()[1] + 1
        self.ports = {name: first + n for n, name in enumerate(("ctld", "rest", *plan.ports))}
        self._log = folder / "log"
        self._script = _ROOTS + plan.script.format(**self.ports)
        self._process: subprocess.Popen[bytes] | None = None
        for image in images.wanted(release, paths.cache() / "images"):
            if image.name in self.roots:
                images.build(image, print)
                _unpack(image.archive, self.roots[image.name])
        self._configure(plan.conf)

    @property
    def url(self) -> str:
        """Where slurmrestd answers."""
        return f"http://127.0.0.1:{self.ports['rest']}"

    @property
    def key(self) -> bytes:
        """What tokens are signed with."""
        return (self.roots[SLURM] / "etc/slurm/jwt_hs256.key").read_bytes()

    @property
    def log(self) -> str:
        """The last that the daemons said."""
        return self._log.read_text(errors="replace")[-3000:]

    def start(self) -> None:
        inside = ["sh", "-ec", self._script, "sh", *map(str, self.roots.values())]
        command = ["setpriv", "--pdeathsig", "KILL", "unshare", *_NAMESPACES, *inside]
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
        self._guard.close()

    def run(self, *command: str, image: str = SLURM) -> str:
        """Run a program next to the daemons, as root."""
        return subprocess.run(
            self.enter(*command, image=image), check=True, capture_output=True, text=True, timeout=60
        ).stdout

    def enter(self, *command: str, image: str = SLURM) -> list[str]:
        """The command line that does so."""
        assert self._process is not None
        inside = Path(f"/proc/{self._process.pid}/task/{self._process.pid}/children").read_text().split()[0]
        root = str(self.roots[image])
        return ["nsenter", "-t", inside, "--mount", "--pid", "--uts", "chroot", root, *command]

    def put(self, name: str, content: str | bytes) -> None:
        """Write a file under /etc/slurm that Slurm alone may read."""
        path = self.roots[SLURM] / "etc/slurm" / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        path.chmod(0o600)
        os.chown(path, _SLURM_UID, _SLURM_UID)

    def _configure(self, conf: str) -> None:
        self.put("slurm.key", secrets.token_bytes(1024))
        self.put("jwt_hs256.key", secrets.token_bytes(32))
        slurm = self.roots[SLURM] / "etc/slurm"
        (slurm / "slurm.conf").write_text((_CONF + conf).format(**self.ports))
        (slurm / "cgroup.conf").write_text("CgroupPlugin=disabled\n")
        (slurm / "gres.conf").write_text("AutoDetect=off\n")
        for root in self.roots.values():
            (root / "etc/hosts").write_text("127.0.0.1 localhost ctl\n")


def _unpack(archive: Path, root: Path) -> None:
    with tarfile.open(archive) as outer:
        manifest = outer.extractfile("manifest.json")
        assert manifest is not None
        for layer in json.load(manifest)[0]["Layers"]:
            with tarfile.open(fileobj=outer.extractfile(layer)) as inner:
                inner.extractall(root, filter="fully_trusted", numeric_owner=True)  # noqa: S202 (our own images)


def _reserve() -> socket.socket:
    """A socket that keeps the block of ports after its own for us, for as long as it is open."""
    while True:
        # Below the ports that the kernel gives to outgoing connections.
        first = random.randrange(20_000, 32_000, _BLOCK)  # noqa: S311
        with contextlib.suppress(OSError):
            return socket.create_server(("127.0.0.1", first))
