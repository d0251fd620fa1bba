"""A whole Slurm at work: two slurmd with two GPUs each, and accounting, beside slurmctld and slurmrestd."""

import os
import subprocess
import time
from pathlib import Path
from typing import Final

from dev.slurm_lab import SLURM, Plan, SlurmLab

CONF: Final = """\
SchedulerParameters=batch_sched_delay=0,sched_interval=1
ReturnToService=2
MessageTimeout=2
SlurmdSpoolDir=/var/spool/slurmd-%n
SlurmdPidFile=/run/slurmd-%n.pid
SlurmdLogFile=/var/log/slurmd-%n.log
SlurmdParameters=config_overrides
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=127.0.0.1
AccountingStoragePort={dbd}
AccountingStorageTRES=gres/gpu
NodeName=n0 NodeHostname=ctl NodeAddr=127.0.0.1 Port={n0} CPUs=4 RealMemory=1000 Gres=gpu:h200:2 Feature=base
NodeName=n1 NodeHostname=ctl NodeAddr=127.0.0.1 Port={n1} CPUs=4 RealMemory=1000 Gres=gpu:h200:2 Feature=base
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

SCRIPT: Final = """\
sql="chroot $2"
mkdir -p "$2/run/mysqld"
$sql mariadb-install-db --user=root --skip-name-resolve --auth-root-authentication-method=normal \\
  --datadir=/var/sql
$sql mariadbd --no-defaults --user=root --datadir=/var/sql --socket=/run/mysqld/s --bind-address=127.0.0.1 \\
  --port={sql} --skip-name-resolve --innodb-snapshot-isolation=OFF &
until $sql mariadb --socket=/run/mysqld/s -e "create database slurm_acct_db;
  create user slurm@'127.0.0.1' identified by 'lab'; grant all on slurm_acct_db.* to slurm@'127.0.0.1'" \\
  2>/dev/null; do sleep 0.2; done
chroot "$1" slurmdbd -D &
listening {dbd}
chroot "$1" slurmctld -D &
listening {ctld}
chroot "$1" slurmd -D -N n0 &
chroot "$1" slurmd -D -N n1 &
chroot "$1" setpriv --reuid=65534 --regid=65534 --clear-groups env SLURM_JWT=daemon \\
  slurmrestd -a rest_auth/jwt 127.0.0.1:{rest} &
wait
"""


class Lab(SlurmLab):
    """One Slurm release at work: slurmrestd, slurmctld, two slurmd, slurmdbd and MariaDB."""

    def __init__(self, release: str, folder: Path) -> None:
        super().__init__(release, folder, Plan(CONF, SCRIPT, ("dbd", "sql", "n0", "n1"), ("mariadb",)))
        self.put("slurmdbd.conf", DBD_CONF.format(**self.ports))
        self._add_user()
        self._add_gpus()

    def start(self) -> None:
        super().start()
        self.wait_until_idle()

    def wait_until_idle(self) -> None:
        deadline = time.monotonic() + 60
        while self._output("sinfo", "--noheader", "--format=%T") != "idle":
            assert time.monotonic() < deadline, self.log
            time.sleep(0.3)

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

    def _add_user(self) -> None:
        etc = self.roots[SLURM] / "etc"
        with (etc / "passwd").open("a") as users, (etc / "group").open("a") as groups:
            users.write("alice:x:2001:2001::/tmp:/bin/sh\n")
            groups.write("alice:x:2001:\n")

    def _add_gpus(self) -> None:
        root = self.roots[SLURM]
        (root / "etc/slurm/gres.conf").write_text(
            "AutoDetect=off\nName=gpu Type=h200 File=/opt/gpu/nvidia[0-1]\n"
        )
        (root / "opt/gpu").mkdir(parents=True)
        for number in range(2):
            os.mknod(root / f"opt/gpu/nvidia{number}", 0o20666, os.makedev(195, number))
