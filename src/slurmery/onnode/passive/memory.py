"""Is the memory that Slurm promises really free? Processes that outlived their job are what takes it."""

import re
from collections.abc import Mapping

from . import slurm


def alloc_mem_used(environment: Mapping[str, str], percent: str = "95", root: str = "") -> str:
    """Fails where less than so many percent of the promised memory can be had."""
    wanted, free = slurm.promised(environment), available(root)
    if free >= wanted * float(percent) / 100:
        return ""
    if "SLURM_JOB_ID" not in environment and slurm.excused(environment):
        return ""
    return f"{free:.0f} MB of memory are free, {wanted:.0f} MB are promised"


def available(root: str = "") -> float:
    """Megabytes that a new process could get: of the machine, or of the container where that has a limit."""
    told = _numbers(f"{root}/proc/meminfo")
    machine = told["MemAvailable"] / 1024
    try:
        with open(f"{root}/sys/fs/cgroup/memory.max") as file:
            limit = int(file.read())
    except (OSError, ValueError):  # the machine's own group, or version 1, or "max"
        return machine
    with open(f"{root}/sys/fs/cgroup/memory.current") as file:
        used = int(file.read())
    inside = _numbers(f"{root}/sys/fs/cgroup/memory.stat")
    cache = inside["file"] - inside["shmem"]
    return min(machine, (limit - used + cache) / 1024**2)


def _numbers(path: str) -> dict[str, int]:
    with open(path) as file:
        found = re.findall(r"^(\w+):?\s+(\d+)", file.read(), re.MULTILINE)
    return {name: int(number) for name, number in found}
