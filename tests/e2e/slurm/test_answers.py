"""Answers of a real slurmrestd that are very long, break off half-way, or do not come."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

import pytest

from dev import images
from dev.slurm_lab import Plan, SlurmLab
from slurmery.slurm.client import SlurmClient
from slurmery.slurm.errors import DeadlineError, UnreachableError
from slurmery.slurm.requests import JobRequest
from slurmery.slurm.tokens import SignedTokens
from tests.e2e.slurm.test_contract import until

CONF = """\
ResumeProgram=/bin/true
SuspendProgram=/bin/true
SuspendTime=INFINITE
MaxJobCount=20000
NodeName=n[0-1] CPUs=4 RealMemory=1000 State=CLOUD
"""
SCRIPT = """\
chroot "$1" slurmctld -D &
listening {ctld}
prlimit --data=3000000000 chroot "$1" setpriv --reuid=65534 --regid=65534 --clear-groups \\
  env SLURM_JWT=daemon MALLOC_ARENA_MAX=1 slurmrestd -t 4 -s slurmctld -a rest_auth/jwt 127.0.0.1:{rest} &
echo $! >"$1/restd"
wait
"""
HUNDRED_MEGABYTES = 100 << 20
LONG = "/" + "x" * 250
# Slurm's longest paths make a job of some 20 kB.
JOB = JobRequest(
    name="train",
    current_working_directory=LONG * 15,
    environment=("PATH=/usr/bin:/bin",),
    hold=True,
    standard_output=LONG * 15,
    standard_error=LONG * 15,
)


@pytest.fixture(scope="module", params=sorted(images.RELEASES))
def lab(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SlurmLab]:
    lab = SlurmLab(request.param, tmp_path_factory.mktemp("slurm"), Plan(CONF, SCRIPT))
    lab.start()
    yield lab
    lab.stop()


@pytest.fixture
async def slurm(lab: SlurmLab) -> SlurmClient:
    slurm = connect(lab.url, lab)
    await until(lambda: _answers(slurm))
    return slurm


def connect(url: str, lab: SlurmLab, seconds: float = 120) -> SlurmClient:
    async def key() -> bytes:
        return lab.key

    return SlurmClient(url, SignedTokens(key, user="slurm"), list_deadline=seconds)


class Relay:
    """Carries slurmrestd's answers, up to `limit` bytes of each, and counts them."""

    def __init__(self, lab: SlurmLab) -> None:
        self._port = lab.ports["rest"]
        self.limit = 1 << 40
        self.carried = 0
        self.url = ""
        self._serving: set[asyncio.Task[None]] = set()

    @asynccontextmanager
    async def listening(self) -> AsyncIterator["Relay"]:
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        async with server:
            yield self
        await asyncio.gather(*self._serving)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        serving = asyncio.current_task()
        assert serving
        self._serving.add(serving)
        answers, questions = await asyncio.open_connection("127.0.0.1", self._port)
        questions.write(await reader.readuntil(b"\r\n\r\n"))
        carrying = asyncio.create_task(self._carry(answers, writer))
        hung_up = asyncio.create_task(reader.read())
        _, waiting = await asyncio.wait({carrying, hung_up}, return_when=asyncio.FIRST_COMPLETED)
        for task in waiting:
            task.cancel()
        await asyncio.gather(carrying, hung_up, return_exceptions=True)
        writer.close()
        questions.close()

    async def _carry(self, answers: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.carried = 0
        while self.carried < self.limit and (piece := await answers.read(1 << 16)):
            self.carried += len(piece)
            writer.write(piece)
            await writer.drain()


async def test_an_answer_of_a_hundred_megabytes_is_read_whole_and_half_of_it_not_at_all(
    lab: SlurmLab, slurm: SlurmClient
) -> None:
    async with Relay(lab).listening() as relay:
        through = connect(relay.url, lab)
        await _submit(slurm, 200)
        await through.jobs()
        more = HUNDRED_MEGABYTES * 200 // relay.carried
        await _submit(slurm, more)

        jobs = await through.jobs()

        assert relay.carried > HUNDRED_MEGABYTES
        assert jobs is not None
        assert len({job.job_id for job in jobs.items}) == 200 + more
        relay.limit = relay.carried // 2
        with pytest.raises(UnreachableError, match="broke off"):
            await through.jobs()


async def test_a_slurmrestd_that_hangs_is_waited_for_no_longer_than_said(
    lab: SlurmLab, slurm: SlurmClient
) -> None:
    hasty = connect(lab.url, lab, seconds=0.5)
    await hasty.version()
    lab.run("sh", "-c", "kill -STOP $(cat /restd)")
    try:
        with pytest.raises(DeadlineError):
            await hasty.nodes()
    finally:
        lab.run("sh", "-c", "kill -CONT $(cat /restd)")
    await until(lambda: _answers(slurm))


async def _submit(slurm: SlurmClient, count: int) -> None:
    left = iter(range(count))

    async def submit() -> None:
        for _ in left:
            await slurm.submit("#!/bin/sh\n", JOB)

    await asyncio.gather(*(submit() for _ in range(8)))


async def _answers(slurm: SlurmClient) -> bool:
    try:
        await slurm.diag()
    except (DeadlineError, UnreachableError):
        return False
    return True
