"""A file on the machine's own disk is what was written to it, and is written as fast as expected."""

import os
import tempfile
import time

from .outcome import Outcome, judged

_BLOCK = os.urandom(1 << 20)


def attempt(megabytes: float = 256.0, least: float = 0.0) -> Outcome:
    """Fails if a block is wrong, or writing is slower than so many MB/s. TMPDIR says where."""
    count = int(megabytes)
    with tempfile.TemporaryFile() as file:
        began = time.perf_counter()
        for _ in range(count):
            file.write(_BLOCK)
        file.flush()
        os.fsync(file.fileno())
        took = time.perf_counter() - began
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        file.seek(0)
        wrong = sum(file.read(len(_BLOCK)) != _BLOCK for _ in range(count))
    return Outcome(True, f"{wrong} of {count} MB are wrong") if wrong else judged(count / took, least, "MB/s")
