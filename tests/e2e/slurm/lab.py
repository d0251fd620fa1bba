"""A whole Slurm without Kubernetes: the daemons of our images in namespaces of their own, on loopback ports.

The namespaces end with the process that made them, so nothing outlives the test, whatever kills it.
"""

import json
import os
import secrets
import socket
import subprocess
import tarfile
import time
from pathlib import Path
from typing import Final

from dev import images

CONF: Final = """\
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
SchedulerParameters=batch_sched_delay=0,sched_interval=1
ReturnToService=2
MessageTimeout=2
StateSaveLocation=/var/spool/slurmctld
SlurmctldPidFile=/run/slurmctld/pid
SlurmctldLogFile=/var/log/slurmctld.log
SlurmdSpoolDir=/var/spool/slurmd-%n
SlurmdPidFile=/run/slurmd-%n.pid
SlurmdLogFile=/var/log/slurmd-%n.log
SlurmdParameters=config_overrides
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=127.0.0.1
AccountingStoragePort={dbd}
AccountingStorageTRES=gres/gpu
GresTypes=gpu
NodeName=n0 NodeHostname=ctl NodeAddr=127.0.0.1 Port={n0} CPUs=4 RealMemory=1000 Gres=gpu:h200:2 Feature=base
NodeName=n1 NodeHostname=ctl NodeAddr=127.0.0.1 Port={n1} CPUs=4 RealMemory=1000 Gres=gpu:h200:2 Feature=base
PartitionName=all Nodes=ALL Default=YES State=UP
"""

DBD_CONF: Final = """\
AuthType=auth/slurm
AuthAltTypes=auth/jwt
AuthAltParameters=jwt_key=/etc/slurm/jwt_hs256.key
DbdHost=ctl
DbdAddr=127.0.0.1
DbdPort={dbd}
SlurmUser=slurm
StorageType=accounting_storage/mysql
StorageHost=127.0.0.1
StoragePort={sql}
StorageUser=slurm
StoragePass=lab
LogFile=/var/log/slurmdbd.log
PidFile=/run/slurmdbd/pid
"""

# $1 is Slurm's root, $2 MariaDB's. Everything below ends with this shell, which is PID 1 of its namespace.
INSIDE: Final = """\
hostname ctl
for root in "$1" "$2"; do
  mount -t proc proc "$root/proc"; mount --rbind /dev "$root/dev"; mount -t tmpfs tmpfs "$root/run"
done
sql="chroot $2"
mkdir -p "$2/run/mysqld"
$sql mariadb-install-db --user=root --skip-name-resolve --auth-root-authentication-method=normal \\
  --datadir=/var/sql
$sql mariadbd --no-defaults --user=root --datadir=/var/sql --socket=/run/mysqld/s --bind-address=127.0.0.1 \\
  --port={sql} --skip-name-resolve --innodb-snapshot-isolation=OFF &
until $sql mariadb --socket=/run/mysqld/s -e "create database slurm_acct_db;
  create user slurm@'127.0.0.1' identified by 'lab'; grant all on slurm_acct_db.* to slurm@'127.0.0.1'" \\
  2>/dev/null; do sleep 0.2; done
install -d -o 401 -g 401 "$1/run/slurmctld" "$1/run/slurmdbd"
install -d "$1/run/slurm"
chroot "$1" slurmdbd -D &
until bash -c 'exec 3<>/dev/tcp/127.0.0.1/{dbd}' 2>/dev/null; do sleep 0.2; done
chroot "$1" slurmctld -D &
until bash -c 'exec 3<>/dev/tcp/127.0.0.1/{ctld}' 2>/dev/null; do sleep 0.2; done
chroot "$1" slurmd -D -N n0 &
chroot "$1" slurmd -D -N n1 &
chroot "$1" setpriv --reuid=65534 --regid=65534 --clear-groups env SLURM_JWT=daemon \\
  slurmrestd -a rest_auth/jwt 127.0.0.1:{rest} &
wait
"""


class Lab:
    """One Slurm release at work: slurmrestd, slurmctld, two slurmd, slurmdbd and MariaDB."""

    def __init__(self, release: str, folder: Path, cache: Path) -> None:
        self.release = release
        self._slurm = folder / "slurm"
        self._sql = folder / "mariadb"
        self._log = folder / "log"
        self._ports = _free_ports("ctld", "dbd", "sql", "rest", "n0", "n1")
        for image in images.wanted(release, cache):
            root = {"slurmctld": self._slurm, "mariadb": self._sql}.get(image.name)
            if root is not None:
                images.build(image, print)
                _unpack(image.archive, root)
        self._configure()
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._ports['rest']}"

    @property
    def key(self) -> bytes:
        return (self._slurm / "etc/slurm/jwt_hs256.key").read_bytes()

    def start(self) -> None:
        namespaces = ["--mount", "--pid", "--uts", "--fork", "--kill-child", "--propagation", "private"]
        script = INSIDE.format(**self._ports)
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                ["unshare", *namespaces, "sh", "-ec", script, "sh", str(self._slurm), str(self._sql)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        self.wait_until_idle()

    def wait_until_idle(self) -> None:
        deadline = time.monotonic() + 60
        while self._output("sinfo", "--noheader", "--format=%T") != "idle":
            assert time.monotonic() < deadline, self._log.read_text(errors="replace")[-3000:]
            time.sleep(0.3)

    def stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def run(self, *command: str) -> str:
        """Run a program next to the daemons, as root."""
        return subprocess.run(
            self.enter(*command), check=True, capture_output=True, text=True, timeout=60
        ).stdout

    def enter(self, *command: str) -> list[str]:
        assert self._process is not None
        inside = Path(f"/proc/{self._process.pid}/task/{self._process.pid}/children").read_text().split()[0]
        return ["nsenter", "-t", inside, "--mount", "--pid", "--uts", "chroot", str(self._slurm), *command]

    def signal_slurmctld(self, name: str) -> None:
        self.run("sh", "-c", f"kill -{name} $(cat /run/slurmctld/pid)")

    def restart_slurmctld(self) -> None:
        """After a kill; -i because it had no time to save what 26.05 insists on finding."""
        self.run("sh", "-c", "slurmctld -i </dev/null >/dev/null 2>&1")

    def _output(self, *command: str) -> str:
        try:
            return self.run(*command).strip()
        except (subprocess.SubprocessError, OSError, IndexError):
            return ""

    def _configure(self) -> None:
        etc = self._slurm / "etc"
        slurm = etc / "slurm"
        for name, size in (("slurm.key", 1024), ("jwt_hs256.key", 32)):
            _put(slurm / name, secrets.token_bytes(size))
        _put(slurm / "slurmdbd.conf", DBD_CONF.format(**self._ports).encode())
        (slurm / "slurm.conf").write_text(CONF.format(**self._ports))
        (slurm / "cgroup.conf").write_text("CgroupPlugin=disabled\n")
        (slurm / "gres.conf").write_text("AutoDetect=off\nName=gpu Type=h200 File=/opt/gpu/nvidia[0-1]\n")
        for root in (self._slurm, self._sql):
            (root / "etc/hosts").write_text("127.0.0.1 localhost ctl\n")
        with (etc / "passwd").open("a") as users, (etc / "group").open("a") as groups:
            users.write("alice:x:2001:2001::/tmp:/bin/sh\n")
            groups.write("alice:x:2001:\n")
        (self._slurm / "opt/gpu").mkdir(parents=True)
        for number in range(2):
            os.mknod(self._slurm / f"opt/gpu/nvidia{number}", 0o20666, os.makedev(195, number))


def _unpack(archive: Path, root: Path) -> None:
    with tarfile.open(archive) as outer:
        manifest = outer.extractfile("manifest.json")
        assert manifest is not None
        for layer in json.load(manifest)[0]["Layers"]:
            with tarfile.open(fileobj=outer.extractfile(layer)) as inner:
                inner.extractall(root, filter="fully_trusted", numeric_owner=True)


def _put(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    path.chmod(0o600)
    os.chown(path, 401, 401)


def _free_ports(*names: str) -> dict[str, int]:
    sockets = {name: socket.create_server(("127.0.0.1", 0)) for name in names}
    ports = {name: held.getsockname()[1] for name, held in sockets.items()}
    for held in sockets.values():
        held.close()
    return ports
