"""Runs a handful of programs for as long as it lives, and starts again those that end.

All are started at once: each of them waits or retries until what it needs is there, which is faster than
an order imposed from outside and the same after a crash.
"""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from dev import files

PAUSE = 1.0


@dataclass(frozen=True)
class Service:
    """A program to keep running."""

    name: str
    command: list[str]
    pass_fds: tuple[int, ...] = ()
    started: Callable[[int], None] = field(default=lambda _: None)
    """Called with the pid after each start."""


class Supervisor:
    """Keeps services running and reaps whatever else dies here.

    Guarantees: each service has one process at a time, its pid in `folder`/NAME.pid, its output in
    `logs`/NAME.log. SIGTERM ends this process; in a PID namespace of its own the kernel then ends the rest.
    """

    def __init__(self, services: list[Service], folder: Path, logs: Path) -> None:
        self._services = services
        self._folder = folder
        self._logs = logs
        self._running: dict[int, Service] = {}

    def run(self) -> None:
        # PID 1 has no default action for signals.
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
        for service in self._services:
            self._start(service)
        while True:
            pid, status = os.waitpid(-1, 0)
            if pid in self._running:
                service = self._running.pop(pid)
                code = os.waitstatus_to_exitcode(status)
                print(f"{service.name} ended with {code}, starting it again", flush=True)
                time.sleep(PAUSE)
                self._start(service)

    def _start(self, service: Service) -> None:
        self._logs.mkdir(parents=True, exist_ok=True)
        with (self._logs / f"{service.name}.log").open("ab") as log:
            process = subprocess.Popen(
                service.command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                pass_fds=service.pass_fds,
                start_new_session=True,
            )
        self._running[process.pid] = service
        files.write(self._folder / f"{service.name}.pid", f"{process.pid}\n")
        service.started(process.pid)
