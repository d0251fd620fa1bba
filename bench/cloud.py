"""A real slurmctld and slurmrestd with any number of nodes, in bounded memory.

The nodes are in the cloud and powered down, so they need no slurmd.
"""

import asyncio
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from dev.slurm_lab import Plan, SlurmLab
from slurmery.slurm.client import SlurmClient
from slurmery.slurm.errors import SlurmError
from slurmery.slurm.model import Number
from slurmery.slurm.requests import JobRequest
from slurmery.slurm.tokens import SignedTokens

RELEASE = "26.05"
_AT_ONCE = 8
_START_SECONDS = 90

_CONF = """\
ResumeProgram=/bin/true
SuspendProgram=/bin/true
SuspendTime=INFINITE
ResumeTimeout=36000
MaxNodeCount=20000
MaxJobCount=200000
NodeName=worker-[1-{nodes}] CPUs=128 RealMemory=8000000 Gres=gpu:h200:8 State=CLOUD
"""

# slurmrestd keeps what it once needed, several times over if every thread has an arena of its own.
_SCRIPT = """\
prlimit --data=1500000000 chroot "$1" slurmctld -D &
listening {ctld}
prlimit --data=3000000000 chroot "$1" setpriv --reuid=65534 --regid=65534 --clear-groups \\
  env SLURM_JWT=daemon MALLOC_ARENA_MAX=1 slurmrestd -t 4 -a rest_auth/jwt 127.0.0.1:{rest} &
wait
"""


@contextmanager
def cloud(folder: Path, nodes: int) -> Iterator[SlurmLab]:
    """A Slurm of this many nodes, which answers."""
    lab = SlurmLab(RELEASE, folder, Plan(_CONF.format(nodes=nodes), _SCRIPT))
    try:
        lab.start()
        asyncio.run(_until_it_answers(lab))
        yield lab
    finally:
        lab.stop()


async def _until_it_answers(lab: SlurmLab) -> None:
    deadline = time.monotonic() + _START_SECONDS
    while True:
        try:
            await SlurmClient(lab.url, tokens(lab.key)).diag()
        except SlurmError:
            assert time.monotonic() < deadline, lab.log
            await asyncio.sleep(0.3)
        else:
            return


def tokens(key: bytes) -> SignedTokens:
    """Tokens for one who may do everything."""

    async def read() -> bytes:
        return key

    return SignedTokens(read, user="slurm")


async def submit_held(slurm: SlurmClient, count: int) -> None:
    """Fill the queue with jobs that wait for ever."""
    job = JobRequest(
        name="train",
        current_working_directory="/tmp",
        environment=("PATH=/usr/bin:/bin",),
        hold=True,
        nodes="2",
        tres_per_node="gres/gpu:h200:8",
        memory_per_node=Number(number=1_000_000),
        standard_output="/home/alice/train-%j.out",
        standard_error="/home/alice/train-%j.err",
    )
    left = iter(range(count))

    async def submit() -> None:
        for _ in left:
            await slurm.submit("#!/bin/sh\nsleep 600\n", job)

    await asyncio.gather(*(submit() for _ in range(_AT_ONCE)))
