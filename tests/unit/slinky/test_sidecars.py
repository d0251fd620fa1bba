"""The scripts of the side containers, run by real shells."""

import asyncio
import os
import shutil
import signal
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from slurmery.slinky import sidecars


@pytest.fixture
def tools(tmp_path: Path) -> Path:
    """Programs that come first in PATH: a `sleep` without patience."""
    folder = tmp_path / "bin"
    folder.mkdir()
    program(folder / "sleep", f"exec {shutil.which('sleep')} 0.02")
    return folder


def program(path: Path, text: str) -> None:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


async def start(*command: str, tools: Path, **environ: str) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        *command,
        env={"PATH": f"{tools}:{os.environ['PATH']}", **environ},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        start_new_session=True,
    )


async def end(process: asyncio.subprocess.Process) -> int:
    os.killpg(process.pid, signal.SIGTERM)
    return await asyncio.wait_for(process.wait(), 10)


async def until(true: Callable[[], bool]) -> None:
    async with asyncio.timeout(10):
        while not true():  # noqa: ASYNC110
            await asyncio.sleep(0.01)


@pytest.mark.parametrize("leftover", [False, True])
async def test_logfile_prints_what_daemons_write_one_after_the_other(
    tmp_path: Path, tools: Path, leftover: bool
) -> None:
    log = tmp_path / "log" / "slurmctld.log"
    if leftover:
        log.parent.mkdir()
        log.write_text("a file of an earlier release")
    process = await start(*sidecars.logfile(str(log))["command"], tools=tools, SOCKET=str(log))
    assert process.stdout
    await until(lambda: log.exists() and stat.S_ISFIFO(log.stat().st_mode))
    async with asyncio.timeout(10):
        for line in ("first", "second"):
            await asyncio.to_thread(log.write_text, f"{line}\n")
            assert await process.stdout.readline() == f"{line}\n".encode()
    assert stat.S_IMODE(log.stat().st_mode) == 0o777
    assert await end(process) == 0


async def test_reconfigure_acts_on_changed_files_and_tries_until_it_succeeds(
    tmp_path: Path, tools: Path
) -> None:
    etc, calls = tmp_path / "etc", tmp_path / "calls"
    program(tools / "scontrol", f'echo "$@" >>{calls}; [ "$(wc -l <{calls})" -ge 3 ]')
    publish(etc, "1", "MinJobAge=1")
    script = sidecars.reconfigure()["command"][-1].replace("/etc/slurm", str(etc))
    process = await start("bash", "-c", script, tools=tools)
    await asyncio.sleep(0.3)
    assert not calls.exists(), "nothing had changed"
    publish(etc, "2", "MinJobAge=2")
    await until(lambda: calls.exists() and len(calls.read_text().splitlines()) >= 3)
    await asyncio.sleep(0.3)
    assert calls.read_text().splitlines() == ["reconfigure"] * 3
    await end(process)


def publish(etc: Path, version: str, text: str) -> None:
    """Swap in a new version of a projected volume as the kubelet does."""
    folder = etc / f"..{version}"
    folder.mkdir(parents=True)
    (folder / "slurm.conf").write_text(text)
    link = etc / "..next"
    link.symlink_to(folder.name)
    link.rename(etc / "..data")
    if not (etc / "slurm.conf").exists():
        (etc / "slurm.conf").symlink_to("..data/slurm.conf")
