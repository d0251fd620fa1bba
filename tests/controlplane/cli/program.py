"""A `slurmery` program as a process of its own."""

import asyncio
import itertools
import os
import signal
import ssl
import sys
import time
from asyncio.subprocess import Process
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

import aiohttp

from dev.controlplane import ControlPlane

PORTS = itertools.count(20000)
# As `slurmery.cli.main` does for a link of this name, without one on disk.
LINK = "import sys; sys.argv[0] = sys.argv.pop(1); from slurmery.cli import main; sys.exit(main())"

# Nobody vouches for the certificate of the metrics; what is proven here is who may read them.
ANY = ssl.create_default_context()
ANY.check_hostname = False
ANY.verify_mode = ssl.CERT_NONE


async def until(condition: Callable[[], Awaitable[bool]], seconds: float = 60) -> None:
    """Wait for something that the world brings about in its own time."""
    async with asyncio.timeout(seconds):
        while not await condition():  # noqa: ASYNC110
            await asyncio.sleep(0.05)


@dataclass(frozen=True)
class Program:
    """A running program, its probes and its metrics."""

    process: Process
    probes: str
    metrics: str

    @classmethod
    async def start(
        cls, plane: ControlPlane, namespace: str, name: str, flags: Sequence[str], environ: dict[str, str]
    ) -> "Program":
        probes, metrics = (f"{plane.plane.address}:{next(PORTS)}" for _ in range(2))
        given = (
            f"--health-probe-bind-address={probes}",
            f"--metrics-bind-address={metrics}",
            f"--leader-elect-namespace={namespace}",
            "--leader-elect",
            *flags,
        )
        known = {"KUBECONFIG": str(plane.kubeconfig), "ENABLE_WEBHOOKS": "false"}
        known |= {"SLURM_OPERATOR_WATCH_NAMESPACES": namespace}
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-c", LINK, *name.split(), *given), env={**os.environ, **known, **environ}
        )
        return cls(process, probes, metrics)

    async def get(self, url: str, token: str = "") -> tuple[int, str]:
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        async with (
            aiohttp.ClientSession(headers=headers) as session,
            session.get(url, ssl=ANY) as answer,
        ):
            return answer.status, await answer.text()

    async def becomes_ready(self) -> None:
        async def ready() -> bool:
            assert self.process.returncode is None, "the program has ended"
            try:
                return await self.get(f"http://{self.probes}/readyz") == (200, "ok")
            except aiohttp.ClientError:
                return False

        await until(ready)

    async def leads(self) -> bool:
        _, page = await self.get(f"http://{self.metrics}/metrics")
        [line] = [line for line in page.splitlines() if line.startswith("leader_election_master_status{")]
        return line.endswith(" 1.0")

    async def stop(self) -> tuple[int, float]:
        """The exit status after SIGTERM, and the seconds it took."""
        begin = time.monotonic()
        self.process.send_signal(signal.SIGTERM)
        status = await asyncio.wait_for(self.process.wait(), 30)
        return status, time.monotonic() - begin

    async def kill(self) -> None:
        if self.process.returncode is None:
            self.process.kill()
        await self.process.wait()


Start = Callable[..., Awaitable[Program]]
