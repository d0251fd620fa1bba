"""The figures of the exporter, against a real slurmrestd whose slurmctld holds as many jobs as nodes."""

import asyncio
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from bench.cloud import cloud, submit_held, tokens
from bench.figure import Figure
from bench.fresh import Meter, fresh
from dev.slurm_lab import SlurmLab
from slurmery.exporter import program
from slurmery.exporter.collector import Collector
from slurmery.exporter.exposition import Exposition
from slurmery.exporter.scope import Scope
from slurmery.exporter.vitals import Vitals
from slurmery.kube.health import Address, serve
from slurmery.slurm import answers
from slurmery.slurm.client import Listing, SlurmClient
from slurmery.slurm.requests import NodeUpdate
from slurmery.slurm.tokens import SignedTokens

T = TypeVar("T")

SIZES = (1000, 5000, 10_000)
# Series of Soperator's exporter at as many nodes and jobs: ours are to be no fewer.
SERIES_PER_NODE = 14
RECORDED = Path(__file__).parents[1] / "tests/data/slurmrest/26.05-v0.0.44-jobs.json"
# The best of several: the neighbours of a busy machine are not what is measured.
RUNS = range(5)
SCRAPES = range(20)
IDLE_RUNS = 10
IDLE_SECONDS = 120

# A client in a process of its own, that reads and forgets: how long the other side takes to say it all.
READER = """
import json, sys, threading, time, urllib.request
def read(request):
    with urllib.request.urlopen(request, timeout=120) as answer:
        while answer.read(1 << 20): pass
begin = time.monotonic()
headers = json.loads(sys.argv[1])
requests = [urllib.request.Request(url, headers=headers) for url in sys.argv[2:]]
threads = [threading.Thread(target=read, args=[request]) for request in requests]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(time.monotonic() - begin)
"""


@dataclass(frozen=True)
class Settings:
    """What the collectors want to know; the rest of the program's settings is not used here."""

    collection_interval: timedelta = timedelta(seconds=30)
    max_collector_inflight: int = 1
    job_source: str = "controller"
    accounting_jobs_lookback: timedelta = timedelta(hours=1)


def figures() -> Iterator[Figure]:
    """Measure everything; a figure comes when it is known."""
    for size in SIZES:
        with tempfile.TemporaryDirectory() as folder, cloud(Path(folder), size) as lab:
            yield from _collecting(lab, size)
    decoded = min((fresh(decode) for _ in RUNS), key=lambda run: run["cpu"])
    assert decoded["jobs"] == 100_000
    yield Figure("decode 100,000 jobs", decoded["cpu"], 1.5, "CPU-s")
    yield Figure("decode 100,000 jobs: kept", decoded["megabytes"], 200, "MB")


def _collecting(lab: SlurmLab, size: int) -> Iterator[Figure]:
    asyncio.run(submit_held(SlurmClient(lab.url, tokens(lab.key)), size))
    run = fresh(collect, lab.url, lab.key.hex())
    assert run["series"] >= SERIES_PER_NODE * size
    words = f"{size:,} nodes and jobs"
    yield Figure(f"{words}: slurmrestd alone", run["slurmrestd"], float("inf"), "s")
    yield Figure(f"{words}: collection", run["seconds"] / run["slurmrestd"], 1.2, "x that")
    yield Figure(f"{words}: collection", run["cpu"], size / 10_000, "CPU-s")
    yield Figure(f"{words}: nothing changed", run["idle cpu"] * 1000, 50, "CPU-ms")
    yield Figure(f"{words}: scrape", run["plain"] * 1000, 100, "ms")
    yield Figure(f"{words}: scrape, gzip", run["gzip"] * 1000, 100, "ms")
    yield Figure(f"{words}: peak", run["peak"], 250, "MiB")


async def collect(url: str, key: str) -> dict[str, float]:
    """Collect, change something and collect again, do so when nothing changed, and be scraped."""
    keyring = tokens(bytes.fromhex(key))
    slurm = _Noting(url, keyring)
    vitals = Vitals()
    collectors = program.collectors(slurm, Settings(), Scope(), vitals)
    exposition = Exposition(collectors, vitals)
    full: list[tuple[float, float]] = []
    alone: list[float] = []
    for number in RUNS:
        await slurm.update_node("worker-1", NodeUpdate(comment=f"run {number}"))
        await slurm.cancel(number + 1)
        alone.append(await _slurmrestd(f"{url}/slurm/{await slurm.version()}", keyring))
        slurm.changes = 0
        full.append(await _collection(collectors))
        assert slurm.changes >= 2, "Slurm did not answer with both long lists"
    idle = await _idle(slurm, collectors)
    async with serve(Address("127.0.0.1", 0), exposition.slurm_routes()) as port:
        page = f"http://127.0.0.1:{port}/metrics"
        plain = [await _read({}, page) for _ in SCRAPES]
        packed = [await _read({"Accept-Encoding": "gzip"}, page) for _ in SCRAPES]
    return {
        "slurmrestd": min(alone),
        "seconds": min(seconds for seconds, _ in full),
        "cpu": min(cpu for _, cpu in full),
        "idle cpu": statistics.median(idle),
        "series": sum(block.series for block in exposition.page()),
        "plain": min(plain),
        "gzip": min(packed),
        "peak": _peak(),
    }


async def decode() -> dict[str, float]:
    """Read a list of 100,000 recorded jobs."""
    recorded = msgspec.json.decode(
        RECORDED.read_bytes().decode(errors="replace"), type=dict[str, msgspec.Raw]
    )
    five = bytes(recorded["jobs"]).strip(b"[]")
    body = bytearray(b'{"jobs":[' + b",".join([five] * 20_000) + b'],"errors":[]}')
    with Meter() as meter:
        items = answers.read(200, body, answers.JobsAnswer).items
    assert isinstance(items, tuple)
    return {"cpu": meter.cpu, "megabytes": meter.megabytes, "jobs": len(items)}


class _Noting(SlurmClient):
    """A client that notes how many lists had changed."""

    changes = 0

    async def _list(self, path: str, kind: type[answers.ListAnswer[T]], since: int) -> Listing[T] | None:
        listing = await super()._list(path, kind, since)
        self.changes += listing is not None
        return listing


async def _collection(collectors: Sequence[Collector[Any]]) -> tuple[float, float]:
    """Seconds and CPU seconds of one."""
    begin = time.monotonic()
    with Meter() as meter:
        await asyncio.gather(*(collector.collect() for collector in collectors))
    return time.monotonic() - begin, meter.cpu


async def _idle(slurm: _Noting, collectors: Sequence[Collector[Any]]) -> list[float]:
    """CPU seconds of collections that found nothing new."""
    found: list[float] = []
    deadline = time.monotonic() + IDLE_SECONDS
    while len(found) < IDLE_RUNS:
        assert time.monotonic() < deadline, "Slurm does not come to rest"
        await asyncio.sleep(1)
        slurm.changes = 0
        _, cpu = await _collection(collectors)
        if not slurm.changes:
            found.append(cpu)
    return found


async def _slurmrestd(url: str, keyring: SignedTokens) -> float:
    """How long slurmrestd itself takes for the two long lists, asked for at once."""
    return await _read({"X-SLURM-USER-TOKEN": await keyring.token()}, f"{url}/nodes/", f"{url}/jobs/")


async def _read(headers: dict[str, str], *urls: str) -> float:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", READER, json.dumps(headers), *urls), stdout=asyncio.subprocess.PIPE
    )
    out, _ = await process.communicate()
    return float(out)


def _peak() -> float:
    """The most memory that this process ever had, in MiB."""
    [line] = [
        line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM:")
    ]
    return int(line.split()[1]) / 1024
