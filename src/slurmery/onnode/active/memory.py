"""Memory keeps what is written to it, and is copied as fast as expected."""

import time

from .outcome import Outcome, judged

_PATTERNS = (0x00, 0xFF, 0xAA, 0x55)
_COPIES = 8


def attempt(megabytes: float = 1024.0, least: float = 0.0) -> Outcome:
    """Fails if a byte is wrong, or copies are slower than so many GB/s. It takes three times that much."""
    size = int(megabytes) << 20
    here, there = bytearray(size), bytearray(size)
    for pattern in _PATTERNS:
        here[:] = bytes([pattern]) * size
        there[:] = here
        if there.count(pattern) != size:
            return Outcome(True, f"{size - there.count(pattern)} bytes that were {pattern:#x} are not")
    began = time.perf_counter()
    for _ in range(_COPIES):
        memoryview(there)[:] = here
    return judged(_COPIES * size / (time.perf_counter() - began) / 1e9, least, "GB/s")
