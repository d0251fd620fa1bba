"""The sandbox: one process tree in its own PID, mount, network, UTS and IPC namespaces.

Whatever happens to it, ending its first process ends everything: the kernel kills all that runs in the PID
namespace, and the mounts, bridges, cables and packet filter rules go with their namespaces.
"""

import contextlib
import os
import signal
import socket
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from dev import files, paths
from dev.refusal import Refusal

UNSHARE = "unshare --pid --mount-proc --mount --propagation slave --net --uts --ipc --fork --kill-child"

NAMESPACE = "run/namespace"
END_SECONDS = 10


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
        inside = [sys.executable, "-m", "dev.init", str(self._folder), str(listener.fileno())]
        # It waits until its pid file is written: a sandbox that nobody knows of cannot exist.
        script = f'cd "$0" && read -r _ && exec {UNSHARE} "$@"'
        log = self._folder / "logs/init.log"
        log.parent.mkdir(parents=True, exist_ok=True)
        listener.set_inheritable(True)
        wait, go = os.pipe()
        output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
        # Not subprocess.Popen: this child is not ours to wait for.
        pid = os.posix_spawn(
            "/bin/sh",
            ["/bin/sh", "-c", script, str(paths.ROOT), *inside],
            os.environ,
            file_actions=[(os.POSIX_SPAWN_DUP2, wait, 0)]
            + [(os.POSIX_SPAWN_DUP2, output, number) for number in (1, 2)],
            setsid=True,
        )
        identity = Process.of(pid)
        assert identity
        files.write(self._pid_file, f"{identity.pid} {identity.born}\n")
        os.write(go, b"go\n")
        for descriptor in (wait, go, output):
            os.close(descriptor)

    def first(self) -> Process | None:
        """The first process inside. It is looked for, because it may outlive the outer one for a moment."""
        wanted = ["-m", "dev.init", str(self._folder)]
        for file in Path("/proc").glob("[0-9]*/cmdline"):
            try:
                arguments = file.read_text().split("\0")
            except (FileNotFoundError, ProcessLookupError):
                continue
            if arguments[1:4] == wanted:
                return Process.of(int(file.parent.name))
        return None

    def enter(self, *command: str, node: str | None = None) -> list[str]:
        """The command line that runs `command` inside, on the control plane or on a node."""
        first = self.first()
        if first is None:
            raise Refusal("no embedded cluster runs: start one with `make up`")
        line = ["nsenter", f"--target={first.pid}", "--mount", "--net", "--uts", "--pid", "--"]
        if node:
            pid = (self._folder / f"run/{node}.pid").read_text().strip()
            line += ["nsenter", f"--target={pid}", "--mount", "--net", "--uts", "--"]
        return [*line, *command]

    def kill(self) -> None:
        """End everything inside, at once, and wait until the kernel has cleaned up."""
        while victims := [victim for victim in (self.first(), self.process()) if victim]:
            for victim in victims:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(victim.pid, signal.SIGKILL)
            time.sleep(0.02)
        # A dying first process has lost its command line, and others may still hold ports and files. After a
        # reboot the namespace may be a stranger's: it is waited for, and not for ever.
        deadline = time.monotonic() + END_SECONDS
        while self._inhabited() and time.monotonic() < deadline:
            time.sleep(0.02)
        (self._folder / NAMESPACE).unlink(missing_ok=True)
        self._pid_file.unlink(missing_ok=True)

    def _inhabited(self) -> bool:
        try:
            namespace = (self._folder / NAMESPACE).read_text()
        except FileNotFoundError:
            return False
        return any(Process.of(pid) for pid in _processes() if _namespace(pid) == namespace)


def _processes() -> list[int]:
    return [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]


def _namespace(pid: int) -> str:
    try:
        return os.readlink(f"/proc/{pid}/ns/pid")  # noqa: PTH115 - a name that is not a path
    except OSError:
        return ""
