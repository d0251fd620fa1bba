"""What to do about a worker that fills its ephemeral storage: pure.

Above one threshold it gets no more jobs, below a lower one it does again; in between nothing changes, so that
a worker near a threshold does not come and go. Only a drain that bears our prefix is undone.
"""

from dataclasses import dataclass
from typing import Final

from slurmery.health.words import Drain, Resume, Word
from slurmery.slurm.model import Node

PREFIX: Final = "[user_problem] pod_ephemeral_storage"


@dataclass(frozen=True)
class Thresholds:
    """In percent of the limit."""

    drain: float = 85.0
    resume: float = 80.0


@dataclass(frozen=True)
class Verdict:
    """What Slurm is told, if anything, and what people are warned of."""

    word: Word | None = None
    warning: str = ""


def decide(used: int, limit: int, node: Node | None, thresholds: Thresholds) -> Verdict:
    """`node` is what Slurm freshly says of the worker, None if it does not."""
    percent = 100 * used / limit
    if percent < thresholds.resume and node and node.drain_owner([PREFIX]):
        return Verdict(Resume(node.name, node.reason))
    if percent <= thresholds.drain:
        return Verdict()
    warning = f"It uses more than {thresholds.drain:g}% of its ephemeral storage, {_size(limit)}."
    if node is None or node.has_drain:
        return Verdict(warning=warning)
    return Verdict(Drain(node.name, _reason(limit, thresholds)), warning)


def _reason(limit: int, thresholds: Thresholds) -> str:
    advice = "delete files that jobs left outside shared storage, such as in /tmp"
    return (
        f"{PREFIX}: more than {thresholds.drain:g}% of {_size(limit)} used, {advice};"
        f" jobs come again below {thresholds.resume:g}%"
    )


def _size(amount: float) -> str:
    for unit in ("bytes", "KiB", "MiB", "GiB"):
        if amount < 1024:
            return f"{amount:.0f} {unit}"
        amount /= 1024
    return f"{amount:.1f} TiB"
