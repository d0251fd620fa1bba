"""A worker that fills its pod's storage is drained and taken back, asked of a kubelet over verified TLS."""

import asyncio
import json
import ssl
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import trustme
from aiohttp import web

from slurmery.health.storage.decide import PREFIX, Thresholds
from slurmery.health.storage.kubelet import REQUESTS, Ways
from slurmery.health.storage.program import Watch
from tests.controlplane.slinky_nodeset.stage import until

from .stage import Checks, Slurm, Stage

GIB = 1 << 30


class Kubelet:
    """Says of every pod that it uses so much."""

    def __init__(self) -> None:
        self.used = 0
        self.pods: dict[str, str] = {}
        self.port = 0
        self.mood = ""

    async def summary(self, _: web.Request) -> web.Response:
        if self.mood == "refuses":
            raise web.HTTPForbidden
        if self.mood == "hangs":
            await asyncio.sleep(3)
        pods = [
            {"podRef": {"name": name, "uid": uid}, "ephemeral-storage": {"usedBytes": self.used}}
            for name, uid in self.pods.items()
        ]
        return web.Response(text=json.dumps({"node": {}, "pods": pods}))


@pytest.fixture
async def kubelet(tmp_path: Path) -> AsyncIterator[Kubelet]:
    authority = trustme.CA()
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    authority.issue_cert("127.0.0.1").configure_cert(tls)
    kubelet = Kubelet()
    application = web.Application()
    application.router.add_get("/stats/summary", kubelet.summary)
    runner = web.AppRunner(application)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=tls).start()
    kubelet.port = runner.addresses[0][1]
    yield kubelet
    await runner.cleanup()


async def test_a_full_worker_is_drained_and_taken_back(
    stage: Stage[Slurm], checks: Checks, kubelet: Kubelet, tmp_path: Path
) -> None:
    ways = Ways(port=kubelet.port, unchecked=True, authority=tmp_path / "ca.pem")
    await checks.restart(watch=Watch(Thresholds(), ways, interval=0.3))
    await stage.node(0, address="127.0.0.1")
    kubelet.pods["worker-0"] = await stage.runs("worker-0")
    kubelet.used = 9 * GIB
    await stage.drained("worker-0", PREFIX)
    await stage.hears("worker-0", "It uses more than 85% of its ephemeral storage, 10 GiB.")
    kubelet.used = 7 * GIB
    await stage.undrained("worker-0")
    assert len(stage.slurm.words) == 2


@pytest.mark.parametrize("mood", ["refuses", "hangs"])
async def test_a_kubelet_that_does_not_tell_changes_nothing(
    stage: Stage[Slurm], checks: Checks, kubelet: Kubelet, mood: str
) -> None:
    ways = Ways(port=kubelet.port, unchecked=True, seconds=1.0)
    await checks.restart(watch=Watch(ways=ways, interval=0.3))
    await stage.node(0, address="127.0.0.1")
    kubelet.pods["worker-0"] = await stage.runs("worker-0")
    kubelet.used, kubelet.mood = 9 * GIB, mood
    failed = REQUESTS.labels("error")._value.get()

    async def refused() -> bool:
        return bool(REQUESTS.labels("error")._value.get() > failed + 2)

    await until(refused)
    assert not stage.slurm.drained("worker-0")
    kubelet.mood = ""
    await stage.drained("worker-0", PREFIX)


async def test_a_kubelet_whom_nobody_vouches_for_is_not_asked(
    stage: Stage[Slurm], checks: Checks, kubelet: Kubelet
) -> None:
    await checks.restart(watch=Watch(ways=Ways(port=kubelet.port), interval=0.3))
    await stage.node(0, address="127.0.0.1")
    kubelet.pods["worker-0"] = await stage.runs("worker-0")
    kubelet.used = 9 * GIB
    failed = REQUESTS.labels("error")._value.get()

    async def refused() -> bool:
        return bool(REQUESTS.labels("error")._value.get() > failed + 2)

    await until(refused)
    assert not stage.slurm.drained("worker-0")
