"""The pages over HTTP: whole, plain or compressed, and independent of what goes wrong behind them."""

import asyncio
import gzip
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import timedelta
from types import SimpleNamespace

import aiohttp
import pytest

from slurmery.exporter import program
from slurmery.exporter.exposition import CONTENT_TYPE, Exposition
from slurmery.exporter.scope import Scope
from slurmery.exporter.vitals import Vitals
from slurmery.kube.health import Address, serve
from slurmery.slurm.errors import UnreachableError
from slurmery.slurm.model import Job, Node
from slurmery.slurm.records import Partition
from tests.unit.exporter.parsed import Series, names, one, parsed
from tests.unit.exporter.slurm import Slurm

SETTINGS = SimpleNamespace(
    collection_interval=timedelta(seconds=0.05),
    max_collector_inflight=1,
    job_source="controller",
    accounting_jobs_lookback=timedelta(hours=1),
)


@asynccontextmanager
async def exporting(slurm: Slurm) -> AsyncIterator[tuple[Exposition, str, str]]:
    """An exporter of this Slurm; the URLs of its two servers."""
    vitals = Vitals()
    collectors = program.collectors(slurm, SETTINGS, Scope(), vitals)
    exposition = Exposition(collectors, vitals)
    tasks = [asyncio.create_task(collector.run()) for collector in collectors]
    anywhere = Address("127.0.0.1", 0)
    async with (
        serve(anywhere, exposition.slurm_routes()) as pages,
        serve(anywhere, exposition.own_routes()) as own,
    ):
        yield exposition, f"http://127.0.0.1:{pages}", f"http://127.0.0.1:{own}"
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def get(url: str, **headers: str) -> tuple[bytes, aiohttp.ClientResponse]:
    async with (
        aiohttp.ClientSession(auto_decompress=False) as session,
        session.get(url, headers=headers) as answer,
    ):
        answer.raise_for_status()
        return await answer.read(), answer


async def until(holds: Callable[[Series], bool], exposition: Exposition) -> Series:
    """The first page of which this holds."""
    async with asyncio.timeout(5):
        while True:
            series = parsed(exposition.page())
            if holds(series):
                return series
            await asyncio.sleep(0.01)


def has(*wanted: str) -> Callable[[Series], bool]:
    return lambda series: set(wanted) <= names(series)


@pytest.fixture
def slurm() -> Slurm:
    slurm = Slurm()
    slurm.members = tuple(Node(name=f"n{number}", state=("IDLE",)) for number in range(700))
    slurm.shares = (Partition(name="all"),)
    slurm.work = tuple(Job(job_id=number, name=f"caf\ufffd {number}") for number in range(1, 600))
    return slurm


async def test_the_page_is_the_same_plain_and_compressed(slurm: Slurm) -> None:
    async with exporting(slurm) as (exposition, pages, _):
        await until(has("slurm_node_info", "slurm_job_info", "slurm_rpc_calls_total"), exposition)
        plain, answer = await get(f"{pages}/metrics", **{"Accept-Encoding": "identity"})
        packed, packed_answer = await get(f"{pages}/metrics", **{"Accept-Encoding": "gzip"})

    assert answer.headers["Content-Type"] == packed_answer.headers["Content-Type"] == CONTENT_TYPE
    assert (answer.headers.get("Content-Encoding"), packed_answer.headers["Content-Encoding"]) == (
        None,
        "gzip",
    )
    series, unpacked = parsed(plain.decode()), parsed(gzip.decompress(packed).decode())
    assert series.keys() == unpacked.keys()
    assert one(series, "slurm_cluster_nodes_total") == 700
    assert len(packed) < len(plain) / 5


async def test_health_is_one_word(slurm: Slurm) -> None:
    async with exporting(slurm) as (_, pages, own):
        assert (await get(f"{pages}/health"))[0] == b"healthy"
        assert (await get(f"{own}/healthz"))[0] == (await get(f"{own}/readyz"))[0] == b"ok"


async def test_its_own_figures_are_on_the_other_server(slurm: Slurm) -> None:
    async with exporting(slurm) as (exposition, pages, own):
        await until(has("slurm_node_info"), exposition)
        page, _ = await get(f"{pages}/metrics")
        figures, _ = await get(f"{own}/metrics")

    series = parsed(gzip.decompress(page).decode() if page[:2] == b"\x1f\x8b" else page.decode())
    own_series = parsed(figures.decode())
    assert one(own_series, "slurm_exporter_metrics_requests_total") == 1
    assert one(own_series, "slurm_exporter_metrics_exported") == len(series)
    # A monitor that scrapes both and drops the port would see these twice.
    assert not names(series) & names(own_series)


async def test_a_list_that_hangs_holds_up_no_other(slurm: Slurm) -> None:
    slurm.delay["jobs"] = 3600
    async with exporting(slurm) as (exposition, _, _):
        await until(has("slurm_node_info", "slurm_partition_up", "slurm_rpc_calls_total"), exposition)
        asked = len(slurm.asked)
        await asyncio.sleep(0.2)

        assert len(slurm.asked) > asked
        assert "slurm_job_info" not in names(parsed(exposition.page()))


async def test_a_list_that_fails_blanks_neither_itself_nor_others(slurm: Slurm) -> None:
    async with exporting(slurm) as (exposition, _, _):
        await until(has("slurm_node_info", "slurm_job_info"), exposition)
        slurm.error["jobs"] = UnreachableError("gone")
        slurm.change(members=slurm.members[:1])
        await until(lambda series: one(series, "slurm_cluster_nodes_total") == 1, exposition)
        await asyncio.sleep(0.2)
        series = parsed(exposition.page())

    assert "slurm_job_info" in names(series)
    assert one(series, "slurm_exporter_data_age_seconds", collector="jobs") > 0.2
    assert one(series, "slurm_exporter_data_age_seconds", collector="nodes") < 0.2
