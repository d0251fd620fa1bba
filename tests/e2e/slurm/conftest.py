"""One lab per Slurm release, for as long as tests use it."""

from collections.abc import AsyncIterator, Iterator

import pytest

from dev import images
from slurmery.slurm.client import SlurmClient
from slurmery.slurm.requests import JobFilter
from slurmery.slurm.tokens import SignedTokens
from tests.e2e.slurm.lab import Lab

VERSIONS = {
    "24.11": ["v0.0.42", "v0.0.41", "v0.0.40"],
    "26.05": ["v0.0.45", "v0.0.44", "v0.0.43", "v0.0.42"],
}


@pytest.fixture(scope="session", params=sorted(images.RELEASES))
def lab(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    this = Lab(request.param, tmp_path_factory.mktemp("slurm"))
    try:
        this.start()
        yield this
    finally:
        this.stop()


@pytest.fixture
async def slurm(lab: Lab) -> AsyncIterator[SlurmClient]:
    """A client that found the newest version by itself; what a test leaves behind is undone."""
    client = connect(lab)
    yield client
    lab.run("sh", "-c", "for job in $(squeue -h -t S -o %A); do scontrol resume $job; done")
    for user in ("slurm", "root"):
        await client.cancel_jobs(JobFilter(user_name=user))
    lab.run(
        "sh",
        "-c",
        "scontrol update nodename=n0,n1 state=undrain || scontrol update nodename=n0,n1 state=resume",
    )
    lab.wait_until_idle()


def connect(lab: Lab, version: str = "", user: str = "slurm") -> SlurmClient:
    async def key() -> bytes:
        return lab.key

    return SlurmClient(lab.url, SignedTokens(key, user=user), version=version)
