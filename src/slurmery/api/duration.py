"""Durations as Go programs write them: `90s`, `1h30m`, `1.5h`."""

import re
from datetime import timedelta

_SECONDS = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9}


def duration(text: str) -> timedelta:
    """The length of time; `text` matches the pattern of GoDuration."""
    parts = re.findall(r"([0-9.]+)(ns|us|µs|ms|s|m|h)", text)
    length = timedelta(seconds=sum(float(number) * _SECONDS[unit] for number, unit in parts))
    return -length if text.startswith("-") else length
