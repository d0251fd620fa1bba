"""`slurmery operator` as a process of its own, and what it costs: CPU time, memory, requests."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from dev.controlplane import ControlPlane
from slurmery import __version__

AGENT = f"slurmery/{__version__}"
READS = frozenset({"get", "list", "watch"})
TICKS = os.sysconf("SC_CLK_TCK")
KIB_PER_MIB = 1024


@dataclass(frozen=True)
class Request:
    """One request of the operator, as the API server's audit log has it; `at` is Unix time."""

    verb: str
    resource: str
    subresource: str
    at: float

    @property
    def writes(self) -> bool:
        return self.verb not in READS


class Operator:
    """A running operator."""

    def __init__(self, pid: int, audit_log: Path, started: float) -> None:
        self.started = started
        self._proc = Path(f"/proc/{pid}")
        self._log = audit_log
        self._read = audit_log.stat().st_size
        self._known: list[Request] = []

    @property
    def cpu(self) -> float:
        """CPU seconds so far, of all threads."""
        fields = (self._proc / "stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / TICKS

    @property
    def mebibytes(self) -> float:
        """The most memory it ever had."""
        lines = (self._proc / "status").read_text().splitlines()
        peak = next(line for line in lines if line.startswith("VmHWM"))
        return int(peak.split()[1]) / KIB_PER_MIB

    def requests(self) -> Sequence[Request]:
        """All its requests that were answered so far."""
        with self._log.open("rb") as log:
            log.seek(self._read)
            lines = log.read().splitlines(keepends=True)
        whole = [line for line in lines if line.endswith(b"\n")]
        self._read += sum(map(len, whole))
        self._known += [
            _request(entry) for entry in map(json.loads, whole) if entry.get("userAgent") == AGENT
        ]
        return self._known

    def writes(self) -> int:
        """How many of them were no reads."""
        return sum(request.writes for request in self.requests())

    def rest(self, seconds: float = 5.0, least: int = 1) -> None:
        """Wait until it has written at least so often, and then nothing for so long."""
        seen, since = 0, time.monotonic()
        while seen < least or time.monotonic() - since < seconds:
            if (now := self.writes()) != seen:
                seen, since = now, time.monotonic()
            time.sleep(0.2)


@contextmanager
def operator(plane: ControlPlane, *flags: str) -> Iterator[Operator]:
    """Start it as its chart does, four workers for each kind, but alone: without an election."""
    kinds = ("controller", "loginset", "nodeset", "restapi", "accounting", "token")
    command = [
        *(sys.executable, "-m", "slurmery", "operator", "--leader-elect=false", "--log-level=info"),
        *(f"--{kind}-workers=4" for kind in kinds),
        *("--metrics-bind-address=0", f"--health-probe-bind-address={plane.plane.address}:8081"),
        *flags,
    ]
    environ = {**os.environ, "KUBECONFIG": str(plane.kubeconfig), "ENABLE_WEBHOOKS": "false"}
    started = time.time()
    with (
        (plane.plane.folder / "operator.log").open("ab") as log,
        subprocess.Popen(command, env=environ, stdout=log, stderr=log) as process,
    ):
        try:
            yield Operator(process.pid, plane.audit_log, started)
        finally:
            process.kill()


def _request(entry: Any) -> Request:
    about = entry.get("objectRef", {})
    at = datetime.fromisoformat(entry["requestReceivedTimestamp"]).timestamp()
    return Request(entry["verb"], about.get("resource", ""), about.get("subresource", ""), at)
