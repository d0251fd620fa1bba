"""The machine itself: when it was started, and how it is restarted.

HostError   the machine could not be told to restart
"""

import asyncio
import time
from pathlib import Path
from typing import Final, Protocol

from slurmery.kube.logs import logger

log = logger("rebooter")

# The pod shares the host's processes: in the namespaces of the first one, reboot is the host's own.
COMMAND: Final = ("nsenter", "--target=1", "--mount", "--uts", "--ipc", "--net", "--pid", "--", "reboot")
_UPTIME: Final = Path("/proc/uptime")


class HostError(Exception):
    """The machine could not be told to restart."""


class AnyMachine(Protocol):
    """The machine that we run on."""

    def booted(self) -> float:
        """When it was started, in seconds of the epoch."""

    async def reboot(self) -> None:
        """Restart it. Raises HostError."""


class Machine:
    """The real one."""

    def booted(self) -> float:
        return time.time() - float(_UPTIME.read_text().split()[0])

    async def reboot(self) -> None:
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec(
            *COMMAND, stdout=pipe, stderr=asyncio.subprocess.STDOUT
        )
        output, _ = await process.communicate()
        if process.returncode:
            words = output.decode(errors="replace").strip()
            raise HostError(f"{' '.join(COMMAND)} ended with {process.returncode}: {words}")


class Rehearsal:
    """A machine that is never restarted, and says that it was: for --dry-run."""

    def __init__(self, machine: AnyMachine) -> None:
        self._booted = machine.booted()

    def booted(self) -> float:
        return self._booted

    async def reboot(self) -> None:
        log.warning("Dry run: the machine would be restarted now")
        self._booted = time.time()
