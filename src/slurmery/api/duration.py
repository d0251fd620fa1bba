"""Durations as Go programs write them, `90s`, `1h30m`, `1.5h`, and as Prometheus does: `1d12h`, `2w`."""

import re
from datetime import timedelta

_DAY = 86400.0
_SECONDS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0} | {
    "d": _DAY,
    "w": 7 * _DAY,
    "y": 365 * _DAY,
}
PART = r"(\d+(?:\.\d*)?|\.\d+)(ns|us|µs|ms|s|m|h|d|w|y)"


def duration(text: str) -> timedelta:
    """The length of time; `text` matches the pattern of GoDuration or PromDuration."""
    parts = re.findall(PART, text)
    length = timedelta(seconds=sum(float(number) * _SECONDS[unit] for number, unit in parts))
    return -length if text.startswith("-") else length
