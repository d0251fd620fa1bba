"""Measurements in processes of their own, so that none pays for what another has imported or left behind.

    python -m bench.fresh MODULE FUNCTION ARGUMENTS...

runs an async function, which measures itself with a Meter and returns named figures, and prints them as JSON.
"""

import asyncio
import gc
import importlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from slurmery.kube import logs

Measure = Callable[..., Awaitable[dict[str, float]]]
MB = 1e6


def fresh(measure: Measure, *arguments: str) -> dict[str, float]:
    """The figures of a function of some module, called in a new process."""
    command = [sys.executable, "-m", "bench.fresh", measure.__module__, measure.__qualname__, *arguments]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True)
    figures: dict[str, float] = json.loads(done.stdout)
    return figures


class Meter:
    """CPU seconds of this process, with all its threads, and the growth of its memory, within a `with`."""

    cpu = 0.0
    megabytes = 0.0

    def __enter__(self) -> "Meter":
        gc.collect()
        self._rss = resident()
        self._cpu = time.process_time()
        return self

    def __exit__(self, *_: object) -> None:
        self.cpu = time.process_time() - self._cpu
        gc.collect()
        self.megabytes = (resident() - self._rss) / MB


def resident() -> int:
    """Bytes of this process that are in memory."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


if __name__ == "__main__":
    logs.configure(logs.Format.JSON, "warn")
    module, name, *rest = sys.argv[1:]
    print(json.dumps(asyncio.run(getattr(importlib.import_module(module), name)(*rest))))
