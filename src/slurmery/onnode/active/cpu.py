"""Every CPU that the job has does the same sum: all must come to the same result, in about the same time."""

import hashlib
import os
import time
from concurrent.futures import ProcessPoolExecutor

from .outcome import Outcome

_BLOCK = bytes(range(256)) * 4096


def attempt(seconds: float = 5.0, times: float = 3.0) -> Outcome:
    """Fails if a CPU is wrong, or takes so many times as long as the one in the middle."""
    cpus = sorted(os.sched_getaffinity(0))
    rounds = max(1, round(seconds / _sum(cpus[0], 8)[1] * 8))
    with ProcessPoolExecutor(len(cpus)) as pool:
        found = list(pool.map(_sum, cpus, [rounds] * len(cpus)))
    digests = [digest for digest, _ in found]
    usual = max(set(digests), key=digests.count)
    middle = sorted(took for _, took in found)[len(found) // 2]
    wrong = [str(cpu) for cpu, digest in zip(cpus, digests, strict=True) if digest != usual]
    slow = [str(cpu) for cpu, (_, took) in zip(cpus, found, strict=True) if took > times * middle]
    words = f"{len(cpus)} CPUs, {rounds * len(_BLOCK) / middle / 1e6:.0f} MB/s each"
    if wrong:
        words += f"; wrong: {','.join(wrong)}"
    if slow:
        words += f"; slow: {','.join(slow)}"
    return Outcome(bool(wrong or slow), words)


def _sum(cpu: int, rounds: int) -> tuple[str, float]:
    """A digest, and the seconds of this CPU that it took: others' use of it does not count."""
    os.sched_setaffinity(0, {cpu})
    began, digest = time.process_time(), hashlib.blake2b()
    for _ in range(rounds):
        digest.update(_BLOCK)
    return digest.hexdigest(), max(time.process_time() - began, 1e-6)
