"""XID errors: what NVIDIA's driver wrote to the kernel's log, which NVML does not remember."""

import os
import re
from collections.abc import Iterable, Iterator

from .reading import Xid

_RECORD = re.compile(
    r"^\d+,\d+,(?P<microseconds>\d+),[^;]*;"
    r"NVRM: Xid \((?:PCI:)?(?P<bus>[0-9a-fA-F:.]+)\): (?P<number>\d+),? ?(?P<words>.*)"
)
_RECORD_BYTES = 8192


def records(path: str = "/dev/kmsg") -> Iterator[str]:
    """Every record that the kernel still holds; none where it may not be read."""
    try:
        log = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    except OSError:
        return
    try:
        while record := _next(log):
            yield record
    finally:
        os.close(log)


def _next(log: int) -> str:
    while True:
        try:
            return os.read(log, _RECORD_BYTES).decode(errors="replace")
        except BrokenPipeError:
            continue  # the kernel overwrote what we were about to read; the next record is there
        except OSError:
            return ""


def xids(lines: Iterable[str]) -> tuple[Xid, ...]:
    """The XID errors among records of /dev/kmsg."""
    found = (_RECORD.match(line) for line in lines)
    return tuple(
        Xid(int(one["number"]), one["bus"].lower(), int(one["microseconds"]) / 1e6, one["words"].strip())
        for one in found
        if one
    )
