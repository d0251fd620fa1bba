"""slurmd is made to register again when slurmctld has forgotten it, and only then. Run by a real shell."""

import signal
import subprocess
import time
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from slurmery.slinky.nodeset.hooks import register_again

SCONTROL = """#!/bin/sh
case $2 in
  slurmd)
    echo "Boot time                = $BOOT"
    echo "Last slurmctld msg time  = $HEARD"
    echo "Slurmd PID               = $SLURMD"
    ;;
  node) echo "$NODE" >&2; exit 1 ;;
esac
"""
# The second pause ends the loop.
SLEEP = """#!/bin/sh
[ -e "$0.over" ] && exit 1
mkdir "$0.over"
"""


@pytest.mark.parametrize(
    ("started", "heard", "answer", "hung_up"),
    [
        (900, 300, "Node gpu-0 not found", True),
        (300, None, "Node gpu-0 not found", True),
        (60, None, "Node gpu-0 not found", False),
        (900, 60, "Node gpu-0 not found", False),
        (900, 300, "slurm_load_node error: Unable to contact slurm controller (connect failure)", False),
        (900, 300, "NodeName=gpu-0 State=IDLE", False),
    ],
    ids=["forgotten", "never spoken to", "just started", "spoken to lately", "slurmctld is away", "known"],
)
def test_a_forgotten_slurmd_registers_again(
    tmp_path: Path, started: int, heard: int | None, answer: str, hung_up: bool
) -> None:
    for name, script in {"scontrol": SCONTROL, "sleep": SLEEP}.items():
        (tmp_path / name).write_text(script)
        (tmp_path / name).chmod(0o755)
    with subprocess.Popen(["/bin/sleep", "60"]) as slurmd:
        env = {
            "PATH": f"{tmp_path}:/usr/bin:/bin",
            "BOOT": ago(started),
            "HEARD": "NONE" if heard is None else ago(heard),
            "SLURMD": str(slurmd.pid),
            "NODE": answer,
        }
        script = register_again().removesuffix("&\n")  # to see its end
        subprocess.run(["/bin/sh", "-c", script], env=env, check=False, timeout=10)
        time.sleep(0.1)
        assert (slurmd.poll() == -signal.SIGHUP) is hung_up
        slurmd.kill()


def ago(seconds: int) -> str:
    return (datetime.now() - timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%S")  # noqa: DTZ005
