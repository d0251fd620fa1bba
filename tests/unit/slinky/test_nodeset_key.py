"""A changed slurm.key reaches a running slurmd when slurmctld has it, which its jobs do not notice."""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from slurmery.slinky.nodeset.hooks import follow_key

DAEMON = """\
import pathlib, signal, sys, time
hups = pathlib.Path(sys.argv[1])
signal.signal(signal.SIGHUP, lambda *_: hups.write_text(hups.read_text() + "x"))
hups.write_text("")
time.sleep(60)
"""


def test_slurmd_is_hung_up_once_for_every_new_key_that_slurmctld_has(tmp_path: Path) -> None:
    key, hups, pid_file = tmp_path / "slurm.key", tmp_path / "hups", tmp_path / "slurmd.pid"
    key.write_text("old")
    os.utime(key, (1, 1))
    daemon = subprocess.Popen([sys.executable, "-c", DAEMON, str(hups)])
    shell = shutil.which("sh") or "sh"
    refuses = tmp_path / "refuses"
    scontrol = tmp_path / "scontrol"
    scontrol.write_text(f"#!/bin/sh\n[ ! -e {refuses} ]\n")
    scontrol.chmod(0o755)
    path = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    try:
        _until(hups.exists)
        pid_file.write_text(str(daemon.pid))
        script = follow_key(str(key), str(pid_file), 0.05).rstrip() + "\necho $!"
        follower = int(
            subprocess.run([shell, "-c", script], env=path, check=True, capture_output=True).stdout
        )
        try:
            _until((tmp_path / "slurmd.pid.key").exists)
            time.sleep(0.2)
            assert hups.read_text() == ""
            _replace(key, tmp_path / "new")
            time.sleep(0.5)
            assert hups.read_text() == ""
            refuses.touch()
            _until(lambda: hups.read_text() == "x")
            time.sleep(0.2)
            assert hups.read_text() == "x"
            _replace(key, tmp_path / "newer")
            _until(lambda: hups.read_text() == "xx")
        finally:
            os.kill(follower, signal.SIGTERM)
    finally:
        daemon.kill()
        daemon.wait()


def _replace(key: Path, by: Path) -> None:
    by.write_text("new")
    by.rename(key)


def _until(holds: Callable[[], bool], seconds: float = 10) -> None:
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.02)
