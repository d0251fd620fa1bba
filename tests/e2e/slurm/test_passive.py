"""The shipped passive checks in both worker images, started by a real slurmd as Slurm starts them."""

import json
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from dev.slurm_lab import SLURM, Plan, SlurmLab

CONF: Final = """\
SchedulerParameters=batch_sched_delay=0,sched_interval=1,nohold_on_prolog_fail
ReturnToService=2
SlurmdSpoolDir=/var/spool/slurmd
SlurmdPidFile=/run/slurmd.pid
SlurmdLogFile=/var/log/slurmd.log
SlurmdParameters=config_overrides
HealthCheckProgram=/opt/slurm_scripts/hc_program.sh
HealthCheckInterval=1
SlurmctldParameters=enable_configless
Prolog=/opt/slurm_scripts/prolog.sh
Epilog=/opt/slurm_scripts/epilog.sh
NodeName=n0 NodeHostname=ctl NodeAddr=127.0.0.1 Port={n0} CPUs=4 RealMemory=90000000
"""

# A worker of a SlurmCluster finds slurm.conf in the jail, one of Slinky has the key alone and asks slurmctld.
SCRIPT: Final = """\
mount -t tmpfs tmpfs "$2/etc/slurm"
install -d "$2/run/slurm"
if [ {image} = slurmd ]; then files=slurm.key more="--conf-server 127.0.0.1:{{ctld}}"; else files=. more=; fi
cp -a "$1/etc/slurm/$files" "$2/etc/slurm"
mount --bind "$1/tmp" "$2/tmp"
mount -t tmpfs -o size=4m tmpfs "$2/boot"
chroot "$1" slurmctld -D &
listening {{ctld}}
chroot "$2" slurmd -D -N n0 $more &
wait
"""

HOGS: Final = "[user_problem] alloc_mem_used"
FULL: Final = "[user_problem] boot_disk_full"


class Lab(SlurmLab):
    """A slurmctld, and a slurmd in a worker image whose boot disk is small."""

    def __init__(self, release: str, folder: Path, image: str) -> None:
        super().__init__(release, folder, Plan(CONF, SCRIPT.format(image=image), ("n0",), (image,)))
        self._image = image
        self.node = self.roots[image]
        for root in self.roots.values():
            with (root / "etc/passwd").open("a") as users:
                users.write("alice:x:2001:2001::/tmp:/bin/sh\n")
        (self.node / "mnt/jail/mnt/memory").mkdir(parents=True)
        (self.node / "opt/slurm_scripts/checks.json").write_text(json.dumps(self._checks()))

    def _checks(self) -> list[dict[str, Any]]:
        """The shipped ones, but the machine that this runs on is neither its disk nor its memory."""
        shipped = json.loads((self.node / "opt/slurmery/onnode/passive/checks.json").read_text())
        for check in shipped:
            check["command"] = check["command"].replace(" 80 /", " 80 /boot")
            check["command"] = check["command"].replace("drop_page_cache", "drop_page_cache /tmp/dropped")
        return [
            one for one in shipped if (one["name"], one["contexts"]) != ("alloc_mem_used", ["hc_program"])
        ]

    def inside(self, script: str) -> str:
        """Run a script where slurmd is."""
        return self.run("sh", "-c", script, image=self._image)

    def show(self) -> str:
        return self.run("scontrol", "show", "node", "n0")

    def drained_for(self) -> str:
        """The reason of its drain; "" if it is not drained."""
        shown = self.show()
        drained = "DRAIN" in shown.partition("State=")[2].split()[0]
        return shown.partition("Reason=")[2].splitlines()[0] if drained else ""

    def submit(self, script: str, *options: str) -> str:
        (self.roots[SLURM] / "tmp/job").write_text(f"#!/bin/sh\n{script}\n")
        alice = ("setpriv", "--reuid=2001", "--regid=2001", "--clear-groups")
        words = ("sbatch", "--parsable", "--chdir=/tmp", "--output=/tmp/%j.out", *options, "/tmp/job")
        return self.run(*alice, *words).strip()

    def state(self, job: str) -> str:
        return self.run("scontrol", "show", "job", job).split("JobState=")[1].split()[0]

    def until(self, there: Callable[[], Any], seconds: float = 60) -> None:
        deadline = time.monotonic() + seconds
        while not _tried(there):
            assert time.monotonic() < deadline, self.log
            time.sleep(0.3)


def _tried(there: Callable[[], Any]) -> bool:
    try:
        return bool(there())
    except (subprocess.SubprocessError, IndexError):
        return False


@pytest.fixture(scope="module", params=[("26.05", "slurmd"), ("24.11", "worker_slurmd")], ids="-".join)
def lab(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    release, image = request.param
    lab = Lab(release, tmp_path_factory.mktemp("passive"), image)
    try:
        lab.start()
        lab.until(lambda: "State=IDLE " in lab.show())
        yield lab
    finally:
        lab.stop()


def test_the_health_check_drains_a_node_whose_disk_is_full_and_gives_it_back(lab: Lab) -> None:
    lab.inside("dd if=/dev/zero of=/boot/junk bs=64k count=60 2>/dev/null")
    lab.until(lambda: lab.drained_for().startswith(f"{FULL}: /boot is 9"))
    assert "[hc_program]" in lab.drained_for()
    lab.inside("rm /boot/junk")
    lab.until(lambda: not lab.drained_for())


def test_an_administrators_drain_is_neither_renamed_nor_undone(lab: Lab) -> None:
    lab.run("scontrol", "update", "nodename=n0", "state=drain", "reason=bad fan, ana")
    output = lab.node / "mnt/jail/opt/soperator-outputs/slurm_scripts/n0.boot_disk_full.hc_program.out"
    lab.inside("dd if=/dev/zero of=/boot/junk bs=64k count=60 2>/dev/null")
    lab.until(lambda: "is 9" in output.read_text())
    lab.inside("rm /boot/junk")
    lab.until(lambda: not output.read_text())
    assert lab.drained_for().startswith("bad fan, ana")
    lab.run("scontrol", "update", "nodename=n0", "state=undrain")


def test_a_prolog_gives_the_job_back_and_drains_the_node_that_cannot_keep_its_promise(lab: Lab) -> None:
    job = lab.submit("true", "--mem=89000000")
    lab.until(lab.drained_for)
    assert lab.drained_for().startswith(f"{HOGS}: ")
    assert "[prolog]" in lab.drained_for()
    lab.until(lambda: lab.state(job) == "PENDING")
    lab.run("scancel", job)
    lab.until(lambda: lab.state(job) == "CANCELLED")
    lab.run("scontrol", "update", "nodename=n0", "state=undrain")


def test_a_job_finds_a_folder_in_memory_and_leaves_nothing_behind(lab: Lab) -> None:
    left = f"left-by-{lab.ports['n0']}"
    here = "/mnt/jail/mnt/memory/job_$SLURM_JOB_ID/file"
    job = lab.submit(f"touch /dev/shm/{left}; echo hi >{here} && cat {here}", "--mem=10")
    lab.until(lambda: lab.state(job) == "COMPLETED")
    assert (lab.roots[SLURM] / f"tmp/{job}.out").read_text() == "hi\n"
    lab.until(lambda: "State=IDLE " in lab.show())
    assert lab.inside(f"ls /dev/shm | grep -c {left} || ls /mnt/jail/mnt/memory").strip() == "0"
    assert (lab.roots[SLURM] / "tmp/dropped").read_text() == "1"


def test_a_job_finds_the_programs_of_active_checks(lab: Lab) -> None:
    script = "cd /opt/slurmery/bin && ./check cpu-perf 0.1 1000 && ./check mem-perf 4 && ./check gpu-health"
    job = lab.submit(f"{script} && ./check disk-perf 4 1e9", "--mem=10")
    lab.until(lambda: lab.state(job) == "FAILED")
    told = (lab.roots[SLURM] / f"tmp/{job}.out").read_text()
    assert "GB/s" in told
    assert '"skipped: no GPU' in told
    assert "at least 1e+09 are wanted" in told


def test_what_a_killed_epilog_left_in_memory_is_cleared_away(lab: Lab) -> None:
    environment = "PYTHONPATH=/opt/slurmery SLURM_JOB_ID=999 SLURM_JOB_UID=2001 SLURM_JOB_GID=2001"
    lab.inside(f"{environment} python3 -S -m onnode.passive job_tmpfs_recreate")
    lab.until(lambda: not lab.inside("ls /mnt/jail/mnt/memory"))
    assert "job_999" not in lab.inside("cat /proc/mounts")
