"""The sandbox: one process tree in its own PID, mount, network, UTS and IPC namespaces.

Whatever happens to it, ending its first process ends everything: the kernel kills all that runs in the PID
namespace, and the mounts, bridges, cables and packet filter rules go with their namespaces.
"""

import os
import signal
import socket
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from dev import files, paths

UNSHARE = "unshare --pid --mount-proc --mount --propagation slave --net --uts --ipc --fork --kill-child"


@dataclass(frozen=True)
class Process:
    """A process that can be told from a later one with the same pid."""

    pid: int
    born: str

    @staticmethod
    def of(pid: int) -> "Process | None":
        try:
            # The command, in parentheses, may hold spaces; the 20th field after it is the start time.
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            return None
        return None if fields[0] == "Z" else Process(pid, fields[19])

    def alive(self) -> bool:
        return Process.of(self.pid) == self


class Sandbox:
    """The sandbox of one cluster folder, found again by its pid file."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._pid_file = folder / "sandbox.pid"

    def process(self) -> Process | None:
        """The outer process, if it runs."""
        try:
            pid, born = self._pid_file.read_text().split()
        except (FileNotFoundError, ValueError):
            return None
        process = Process(int(pid), born)
        return process if process.alive() else None

    def start(self, listener: socket.socket) -> None:
        """Start the first process inside. It outlives us, and is known before it does anything."""
        descriptor = listener.fileno()
        inside = [sys.executable, "-m", "dev.init", str(self._folder), str(descriptor)]
        # It waits until its pid file is written: a sandbox that nobody knows of cannot exist.
        script = f'read -r _ && exec {UNSHARE} "$@"'
        log = self._folder / "logs/init.log"
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("ab") as output:
            process = subprocess.Popen(
                ["/bin/sh", "-c", script, "sandbox", *inside],
                cwd=paths.ROOT,
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=output,
                pass_fds=(descriptor,),
                start_new_session=True,
            )
        identity = Process.of(process.pid)
        assert identity
        assert process.stdin
        files.write(self._pid_file, f"{identity.pid} {identity.born}\n")
        process.stdin.write(b"go\n")
        process.stdin.close()

    def first_pid(self) -> int | None:
        """The outside pid of the first process inside."""
        process = self.process()
        if process is None:
            return None
        try:
            children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        except FileNotFoundError:
            return None
        return int(children[0]) if children else None

    def enter(self, *command: str, node: str | None = None) -> list[str]:
        """The command line that runs `command` inside, on the control plane or on a node."""
        line = ["nsenter", f"--target={self.first_pid()}", "--mount", "--net", "--uts", "--pid", "--"]
        if node:
            pid = (self._folder / f"run/{node}.pid").read_text().strip()
            line += ["nsenter", f"--target={pid}", "--mount", "--net", "--uts", "--"]
        return [*line, *command]

    def kill(self) -> None:
        """End everything inside, at once, and wait until the kernel has cleaned up."""
        process, first = self.process(), self.first_pid()
        inner = Process.of(first) if first else None
        for victim in (inner, process):
            if victim and victim.alive():
                os.kill(victim.pid, signal.SIGKILL)
        while any(victim and victim.alive() for victim in (inner, process)):
            time.sleep(0.02)
        self._pid_file.unlink(missing_ok=True)
