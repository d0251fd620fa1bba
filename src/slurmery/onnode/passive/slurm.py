"""What the checks ask Slurm: which jobs are here, and how much memory was promised."""

import re
import subprocess
from collections.abc import Mapping
from typing import NamedTuple

_SECONDS = 10
_MEGABYTES = {"K": 1 / 1024, "M": 1.0, "G": 1024.0, "T": 1024.0**2, "P": 1024.0**3}


class Here(NamedTuple):
    """A job on this node."""

    number: str
    uid: str


def jobs(environment: Mapping[str, str]) -> list[Here]:
    """The jobs that have something of this node, also those that are about to end."""
    words = ["squeue", "--noheader", f"--nodelist={environment['CHECKS_NODE']}", "--format=%A %U"]
    return [Here(*line.split()) for line in _output(words).splitlines()]


def others(environment: Mapping[str, str]) -> list[Here]:
    """The jobs beside the one that this runs for."""
    return [job for job in jobs(environment) if job.number != environment["SLURM_JOB_ID"]]


def excused(environment: Mapping[str, str]) -> bool:
    """Whether a job has come since the node was seen idle: what is in use now may be its own."""
    return "DRAIN" not in environment.get("CHECKS_NODE_STATE", "") and bool(jobs(environment))


def promised(environment: Mapping[str, str]) -> float:
    """Megabytes that must be free: those of the job if there is one, else all that no job was given."""
    if number := environment.get("SLURM_JOB_ID"):
        text = _output(["scontrol", "show", "job", number])
        found = re.search(r"AllocTRES=\S*\bmem=([\d.]+)([KMGTP])", text)
        nodes = re.search(r"NumNodes=(\d+)", text)
        share = float(found[1]) * _MEGABYTES[found[2]] if found else 0.0
        return share / int(nodes[1]) if nodes else share
    found = re.search(
        r"RealMemory=(\d+) AllocMem=(\d+)", _output(["scontrol", "show", "node", environment["CHECKS_NODE"]])
    )
    return float(found[1]) - float(found[2]) if found else 0.0


def _output(words: list[str]) -> str:
    return subprocess.run(words, capture_output=True, text=True, timeout=_SECONDS, check=True).stdout
