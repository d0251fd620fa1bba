"""A Slurm of two nodes that can be moved to other Kubernetes nodes, and whose slurmrestd can hang and die."""

import socket
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from dev.slurm_lab import Plan, SlurmLab

CONF: Final = """\
SchedulerParameters=batch_sched_delay=0,sched_interval=1
ReturnToService=2
MessageTimeout=2
SlurmdSpoolDir=/var/spool/slurmd-%n
SlurmdPidFile=/run/slurmd-%n.pid
SlurmdLogFile=/var/log/slurmd-%n.log
SlurmdParameters=config_overrides
NodeName=worker-0 NodeHostname=ctl NodeAddr=127.0.0.1 Port={n0} CPUs=4 RealMemory=1000
NodeName=worker-01 NodeHostname=ctl NodeAddr=127.0.0.1 Port={n1} CPUs=4 RealMemory=1000
"""

SCRIPT: Final = """\
chroot "$1" slurmctld -D &
listening {ctld}
wait
"""

# Programs that know it as a Service expect it at its usual port, on an address of the test's own.
_REST: Final = """\
setpriv --reuid=65534 --regid=65534 --clear-groups env SLURM_JWT=daemon \
  slurmrestd -s slurmctld -a rest_auth/jwt 127.0.0.1:{rest} {address}:6820 </dev/null >/dev/null 2>&1 &
echo $! > /run/rest.pid
"""


class Lab(SlurmLab):
    """Slurm as a stage knows it."""

    def __init__(self, release: str, folder: Path, address: str) -> None:
        super().__init__(release, folder, Plan(CONF, SCRIPT, ("n0", "n1")))
        self._rest = _REST.format(address=address, **self.ports)

    def start(self) -> None:
        super().start()
        self._until(lambda: "UP" in self._shell("scontrol ping"))
        self.speak()

    def speak(self) -> None:
        """Start slurmrestd."""
        self._shell(self._rest)
        self._until(self._answers)

    def fall_silent(self) -> None:
        """Kill slurmrestd."""
        self._shell("kill -KILL $(cat /run/rest.pid)")

    def registers(self, name: str, host: str) -> None:
        """Start slurmd anew, on a Kubernetes node of this name."""
        pid = f"/run/slurmd-{name}.pid"
        self._shell(f"if [ -e {pid} ]; then kill $(cat {pid}); while [ -e {pid} ]; do sleep 0.1; done; fi")
        self._shell(f"slurmd -N {name} --instance-id={host} </dev/null >/dev/null 2>&1")
        # 26.05 keeps the instance id of the first time: it is the pod that tells where a worker is now.
        self._until(lambda: "IDLE" in self._show(name) and "NOT_RESPONDING" not in self._show(name))

    def drained(self, name: str) -> bool:
        return "DRAIN" in self._show(name).split("State=")[1].split()[0]

    def reason(self, name: str) -> str:
        _, found, after = self._show(name).partition("Reason=")
        return after.splitlines()[0] if found else ""

    def submit(self, name: str) -> str:
        """A job that runs there until it is told to end; its id."""
        (self.roots["slurmctld"] / "tmp/job").write_text(
            "#!/bin/sh\nwhile [ ! -e /tmp/end ]; do sleep 0.2; done\n"
        )
        job = self._shell(f"sbatch --parsable --chdir=/tmp -o /dev/null -w {name} /tmp/job").strip()
        self._until(lambda: self.state(job) == "RUNNING")
        return job

    def end(self) -> None:
        """Let jobs end by themselves."""
        self._shell("touch /tmp/end")

    def state(self, job: str) -> str:
        return self._show(job, "job").split("JobState=")[1].split()[0]

    def drain(self, name: str, reason: str) -> None:
        """As an administrator does."""
        self.run("scontrol", "update", f"nodename={name}", "state=drain", f"reason={reason}")

    def hang(self) -> None:
        """Let slurmrestd take requests and answer none."""
        self._shell("kill -STOP $(cat /run/rest.pid)")

    def unhang(self) -> None:
        self._shell("kill -CONT $(cat /run/rest.pid)")

    def _answers(self) -> bool:
        socket.create_connection(("127.0.0.1", self.ports["rest"]), timeout=1).close()
        return True

    def _show(self, name: str, kind: str = "node") -> str:
        return self.run("scontrol", "show", kind, name)

    def _shell(self, script: str) -> str:
        return self.run("sh", "-c", script)

    def _until(self, condition: Callable[[], bool]) -> None:
        deadline = time.monotonic() + 60
        while not _holds(condition):
            assert time.monotonic() < deadline, self.log
            time.sleep(0.3)


def _holds(condition: Callable[[], bool]) -> bool:
    try:
        return condition()
    except (OSError, IndexError, subprocess.SubprocessError):
        return False
