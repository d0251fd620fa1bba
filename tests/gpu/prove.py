"""Slurm on a machine with an NVIDIA GPU and cgroup v2: what jobs may open, and what a failing check does.

    python3 prove.py ROOT FILES ONNODE

ROOT is a root file system with Slurm and Python, as in our images; FILES is a folder with the generated
cgroup.conf and gres.conf; ONNODE is src/slurmery/onnode. It is run by hand, as root: CI has no GPU.
"""

import json
import os
import secrets
import shutil
import subprocess
import sys
import time
from pathlib import Path

CONF = """\
ClusterName=proof
SlurmctldHost={host}(127.0.0.1)
AuthType=auth/slurm
CredType=cred/slurm
SlurmUser=root
ProctrackType=proctrack/cgroup
TaskPlugin=task/cgroup,task/affinity
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
ReturnToService=2
StateSaveLocation=/var/spool/slurmctld
SlurmdSpoolDir=/var/spool/slurmd
SlurmctldLogFile=/var/log/slurmctld.log
SlurmdLogFile=/var/log/slurmd.log
HealthCheckProgram={health}
HealthCheckInterval=5
HealthCheckNodeState=ANY
GresTypes=gpu
{more}
NodeName={host} NodeAddr=127.0.0.1 CPUs={cpus} RealMemory=1000 Gres=gpu:1
PartitionName=all Nodes=ALL Default=YES
"""
SHIPPED = """\
Prolog=/opt/slurm_scripts/prolog.sh
Epilog=/opt/slurm_scripts/epilog.sh
"""
HEALTH = """\
#!/bin/sh
PYTHONPATH=/opt/slurmery exec python3 -m onnode.checks hc_program /opt/slurmery/checks.json
"""
CHECK = {
    "name": "gpu_health",
    "command": "PYTHONPATH=/opt/slurmery python3 -m onnode.gpu --expected 1 --config /opt/slurmery/gpu.json",
    "platforms": ["GPU"],
    "on_fail": "drain",
    "on_ok": "undrain",
    "reason_base": "[node_problem] gpu_health",
    "reason_append_details": True,
}
OPEN = "exec 9</dev/nvidia0 && echo opened"
LIBRARIES = ("libnvidia-ml.so.1", "libcuda.so.1", "libnvidia-ptxjitcompiler.so.1")


class Proof:
    """A Slurm in a chroot that shares the machine's devices and cgroups."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.said: dict[str, object] = {}

    def run(self, *command: str, check: bool = True) -> str:
        done = subprocess.run(
            ["chroot", str(self.root), *command], capture_output=True, text=True, check=False, timeout=60
        )
        if check and done.returncode:
            raise SystemExit(f"{command}: {done.stdout}{done.stderr}")
        return (done.stdout + done.stderr).strip()

    def until(self, what: str, text: str, *command: str, seconds: float = 60) -> str:
        deadline = time.monotonic() + seconds
        while text not in (found := self.run(*command, check=False)):
            if time.monotonic() > deadline:
                logs = "".join(
                    each.read_text()[-3000:] for each in (self.root / "var/log").glob("slurm*.log")
                )
                raise SystemExit(f"{what}: {found}\n{logs}")
            time.sleep(0.5)
        return found

    def prepare(self, files: Path, onnode: Path) -> None:
        for source in ("proc", "sys", "dev"):
            subprocess.run(["mount", "--rbind", f"/{source}", str(self.root / source)], check=True)
        subprocess.run(["mount", "-t", "tmpfs", "tmpfs", str(self.root / "run")], check=True)
        for name in LIBRARIES:
            self._copy_library(name)
        etc, opt = self.root / "etc/slurm", self.root / "opt/slurmery"
        for folder in (etc, opt, *(self.root / "var/spool" / each for each in ("slurmctld", "slurmd"))):
            folder.mkdir(parents=True, exist_ok=True)
        host = os.uname().nodename
        self.configure("/opt/slurmery/health-check")
        for name in ("cgroup.conf", "gres.conf"):
            shutil.copy(files / name, etc / name)
        (etc / "slurm.key").write_bytes(secrets.token_bytes(1024))
        (etc / "slurm.key").chmod(0o600)
        shutil.copytree(onnode, opt / "onnode", dirs_exist_ok=True)
        self.threshold({})
        (opt / "checks.json").write_text(json.dumps([CHECK]))
        (opt / "health-check").write_text(HEALTH)
        (opt / "health-check").chmod(0o755)
        with (self.root / "etc/hosts").open("a") as hosts:
            hosts.write(f"127.0.0.1 {host}\n")

    def configure(self, health: str, more: str = "") -> None:
        text = CONF.format(host=os.uname().nodename, cpus=os.cpu_count(), health=health, more=more)
        (self.root / "etc/slurm/slurm.conf").write_text(text)

    def threshold(self, limits: dict[str, object]) -> None:
        (self.root / "opt/slurmery/gpu.json").write_text(json.dumps(limits))

    def prove(self) -> None:
        host = os.uname().nodename
        self.run("slurmctld")
        self.until("slurmctld answers", "UP", "scontrol", "ping")
        self.said["slurmd -G"] = self.run("slurmd", "-G")
        self.run("slurmd", "-N", host)
        self.until("the node is idle", "idle", "sinfo", "-h", "-o", "%t")
        node = ("scontrol", "show", "node", host)
        self.said["gres"] = next(line.strip() for line in self.run(*node).splitlines() if "Gres=" in line)
        self.said["with --gres=gpu:1"] = self.run("srun", "--gres=gpu:1", "sh", "-c", OPEN, check=False)
        self.said["without a GPU"] = self.run("srun", "sh", "-c", OPEN, check=False)
        self.said["health, asked by a GPU job"] = self.run(
            *(
                "srun",
                "--gres=gpu:1",
                "sh",
                "-c",
                "PYTHONPATH=/opt/slurmery python3 -m onnode.gpu | sed -n 2p",
            ),
            check=False,
        )
        self.threshold({"min_tera_operations": 100_000})
        self.said["a check that fails"] = self._reason(self.until("the node drains", "DRAIN", *node))
        self.threshold({})
        self.until("the node returns", "State=IDLE ", *node)
        self.said["and passes again"] = "the node is idle"
        self.configure("/opt/slurm_scripts/hc_program.sh", SHIPPED)
        self.run("scontrol", "reconfigure")
        time.sleep(15)  # three times the shipped checks
        job = self.run("srun", "--gres=gpu:1", "sh", "-c", OPEN, check=False)
        self.until("the node stays idle", "State=IDLE ", *node)
        self.said["with the shipped checks as Prolog, Epilog and HealthCheckProgram"] = job

    def _reason(self, text: str) -> str:
        return next(line.strip() for line in text.splitlines() if "Reason=" in line)

    def _copy_library(self, name: str) -> None:
        listed = subprocess.run(["ldconfig", "-p"], capture_output=True, text=True, check=True).stdout
        found = next((line.split()[-1] for line in listed.splitlines() if line.split()[:1] == [name]), "")
        where = Path(found) if found else next(Path("/usr/lib").rglob(name))
        shutil.copy(where.resolve(), self.root / "usr/lib/x86_64-linux-gnu" / name)


def main(root: str, files: str, onnode: str) -> None:
    proof = Proof(Path(root))
    proof.prepare(Path(files), Path(onnode))
    try:
        proof.prove()
    finally:
        print(json.dumps(proof.said, indent=1))
    assert proof.said["with --gres=gpu:1"] == "opened"
    assert "opened" not in str(proof.said["without a GPU"])


if __name__ == "__main__":
    main(*sys.argv[1:])
