"""`slurmery operator`, as a chart starts it."""

import asyncio
import os
import signal
import sys

import aiohttp

from slurmery.kube.resources import STATEFUL_SETS
from slurmery.slinky.kinds import CONTROLLERS

from .scene import SLURMCTLD, Scene, until


async def test_the_operator_serves_the_namespaces_it_is_told_and_ends_when_asked(scene: Scene) -> None:
    await scene.keys()
    await scene.create(CONTROLLERS, "slurm", SLURMCTLD)
    probes = f"{scene.plane.plane.address}:8081"
    flags = ("--leader-elect=false", f"--namespaces={scene.namespace}", "--metrics-bind-address=0")
    environ = {**os.environ, "KUBECONFIG": str(scene.plane.kubeconfig), "ENABLE_WEBHOOKS": "false"}
    command = (sys.executable, "-m", "slurmery", "operator", *flags, f"--health-probe-bind-address={probes}")
    process = await asyncio.create_subprocess_exec(*command, env=environ, stderr=asyncio.subprocess.DEVNULL)
    try:
        await until(lambda: ready(f"http://{probes}/readyz"))
        await scene.exists(STATEFUL_SETS, "slurm-controller")
        process.send_signal(signal.SIGTERM)
        assert await asyncio.wait_for(process.wait(), 5) == 0
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


async def ready(url: str) -> bool:
    try:
        async with aiohttp.ClientSession() as session, session.get(url) as answer:
            return answer.status == 200
    except aiohttp.ClientError:
        return False
