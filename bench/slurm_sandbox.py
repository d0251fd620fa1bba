"""A real slurmctld and slurmrestd with any number of nodes, in namespaces of their own and bounded memory.

The nodes are in the cloud and powered down, so they need no slurmd. The daemons answer on loopback only and
end with the process that started them.
"""

import asyncio
import json
import os
import secrets
import socket
import subprocess
import tarfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from dev import images, paths
from slurmery.slurm.client import SlurmClient
from slurmery.slurm.errors import SlurmError
from slurmery.slurm.model import Number
from slurmery.slurm.requests import JobRequest
from slurmery.slurm.tokens import SignedTokens

RELEASE = "26.05"
_SLURM_UID = 401
_AT_ONCE = 8
_START_SECONDS = 90

_CONF = """\
ClusterName=bench
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
ResumeProgram=/bin/true
SuspendProgram=/bin/true
SuspendTime=INFINITE
ResumeTimeout=36000
MaxNodeCount=20000
MaxJobCount=200000
GresTypes=gpu
NodeName=worker-[1-{nodes}] CPUs=128 RealMemory=8000000 Gres=gpu:h200:8 State=CLOUD
PartitionName=all Nodes=ALL Default=YES State=UP
"""

# $1 is Slurm's root. Everything below ends with this shell, which is PID 1 of its namespace. slurmrestd keeps
# what it once needed, several times over if every thread has an arena of its own.
_INSIDE = """\
hostname ctl
mount -t proc proc "$1/proc"; mount --rbind /dev "$1/dev"; mount -t tmpfs tmpfs "$1/run"
install -d -o 401 -g 401 "$1/run/slurmctld"
install -d "$1/run/slurm"
prlimit --data=1500000000 chroot "$1" slurmctld -D &
until bash -c 'exec 3<>/dev/tcp/127.0.0.1/{ctld}' 2>/dev/null; do sleep 0.2; done
prlimit --data=3000000000 chroot "$1" setpriv --reuid=65534 --regid=65534 --clear-groups \\
  env SLURM_JWT=daemon MALLOC_ARENA_MAX=1 slurmrestd -t 4 -a rest_auth/jwt 127.0.0.1:{rest} &
wait
"""


class SlurmSandbox:
    """A Slurm of this many nodes."""

    def __init__(self, folder: Path, nodes: int) -> None:
        self._root = folder / "slurm"
        self._log = folder / "log"
        self._ports = _free_ports("ctld", "rest")
        [image] = [
            image for image in images.wanted(RELEASE, paths.cache() / "images") if image.name == "slurmctld"
        ]
        images.build(image, print)
        _unpack(image.archive, self._root)
        self._configure(nodes)

    @property
    def url(self) -> str:
        """Where slurmrestd answers."""
        return f"http://127.0.0.1:{self._ports['rest']}"

    @property
    def key(self) -> Path:
        """The file with the key that tokens are signed with."""
        return self._root / "etc/slurm/jwt_hs256.key"

    @contextmanager
    def running(self) -> Iterator[None]:
        """Run the daemons meanwhile."""
        namespaces = ["--mount", "--pid", "--uts", "--fork", "--kill-child", "--propagation", "private"]
        inside = ["sh", "-ec", _INSIDE.format(**self._ports), "sh", str(self._root)]
        with self._log.open("wb") as log:
            process = subprocess.Popen(
                ["unshare", *namespaces, *inside], stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )
        try:
            asyncio.run(self._until_it_answers())
            yield
        finally:
            process.kill()
            process.wait()

    async def _until_it_answers(self) -> None:
        deadline = time.monotonic() + _START_SECONDS
        while True:
            try:
                await SlurmClient(self.url, tokens(self.key)).diag()
            except SlurmError:
                assert time.monotonic() < deadline, self._log.read_text(errors="replace")[-3000:]
                await asyncio.sleep(0.3)
            else:
                return

    def _configure(self, nodes: int) -> None:
        slurm = self._root / "etc/slurm"
        for name, size in (("slurm.key", 1024), ("jwt_hs256.key", 32)):
            (slurm / name).write_bytes(secrets.token_bytes(size))
            (slurm / name).chmod(0o600)
            os.chown(slurm / name, _SLURM_UID, _SLURM_UID)
        (slurm / "slurm.conf").write_text(_CONF.format(nodes=nodes, **self._ports))
        (slurm / "cgroup.conf").write_text("CgroupPlugin=disabled\n")
        (slurm / "gres.conf").write_text("AutoDetect=off\n")
        (self._root / "etc/hosts").write_text("127.0.0.1 localhost ctl\n")


def tokens(key: Path) -> SignedTokens:
    """Tokens for one who may do everything."""
    content = key.read_bytes()

    async def read() -> bytes:
        return content

    return SignedTokens(read, user="slurm")


async def submit_held(slurm: SlurmClient, count: int) -> None:
    """Fill the queue with jobs that wait for ever."""
    job = JobRequest(
        name="train",
        current_working_directory="/tmp",
        environment=("PATH=/usr/bin:/bin",),
        hold=True,
        nodes="2",
        tres_per_node="gres/gpu:h200:8",
        memory_per_node=Number(number=1_000_000),
        standard_output="/home/alice/train-%j.out",
        standard_error="/home/alice/train-%j.err",
    )
    left = iter(range(count))

    async def submit() -> None:
        for _ in left:
            await slurm.submit("#!/bin/sh\nsleep 600\n", job)

    await asyncio.gather(*(submit() for _ in range(_AT_ONCE)))


def _unpack(archive: Path, root: Path) -> None:
    with tarfile.open(archive) as outer:
        manifest = outer.extractfile("manifest.json")
        assert manifest is not None
        for layer in json.load(manifest)[0]["Layers"]:
            with tarfile.open(fileobj=outer.extractfile(layer)) as inner:
                inner.extractall(root, filter="fully_trusted", numeric_owner=True)


def _free_ports(*names: str) -> dict[str, int]:
    sockets = {name: socket.create_server(("127.0.0.1", 0)) for name in names}
    ports = {name: held.getsockname()[1] for name, held in sockets.items()}
    for held in sockets.values():
        held.close()
    return ports
