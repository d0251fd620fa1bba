"""The GPUs of a job: nobody else may use them, and DCGM is told whose they are."""

import os
from collections.abc import Mapping
from contextlib import suppress

from ..gpu import nvml
from . import slurm

_MAP = "/var/run/nebius/slurm"


def alloc_gpus_busy(environment: Mapping[str, str], percent: str = "2") -> str:
    """Fails where a GPU has processes, or so many percent of its memory in use, before the job begins."""
    own = _gpus(environment) if "SLURM_JOB_ID" in environment else None
    with nvml.opened() as library:
        used = {one.index: one for one in library.usage() if own is None or str(one.index) in own}
    busy = [
        f"GPU {index}: {one.processes} processes, {one.memory_percent:.0f} % of memory"
        for index, one in used.items()
        if one.processes or one.memory_percent > float(percent)
    ]
    if busy and own is None and slurm.excused(environment):
        return ""
    return "; ".join(busy)


def map_job_dcgm(environment: Mapping[str, str], folder: str = _MAP) -> str:
    """A file for each GPU that names its jobs, as DCGM's exporter reads them."""
    os.makedirs(folder, exist_ok=True)
    for gpu in _gpus(environment):
        with open(f"{folder}/{gpu}", "a") as file:
            file.write(f"{environment['SLURM_JOB_ID']}\n")
    return ""


def unmap_job_dcgm(environment: Mapping[str, str], folder: str = _MAP) -> str:
    """The job's line is taken out again."""
    for gpu in _gpus(environment):
        with suppress(FileNotFoundError), open(f"{folder}/{gpu}", "r+") as file:
            left = [line for line in file if line.strip() != environment["SLURM_JOB_ID"]]
            file.seek(0)
            file.truncate()
            file.writelines(left)
            if not left:
                os.unlink(f"{folder}/{gpu}")
    return ""


def _gpus(environment: Mapping[str, str]) -> list[str]:
    return [each for each in environment.get("SLURM_JOB_GPUS", "").split(",") if each.isdigit()]
