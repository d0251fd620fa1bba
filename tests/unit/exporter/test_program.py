"""The program as a process: it finds its token, serves, and stops in time."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.unit.exporter.parsed import names, of, one
from tests.unit.exporter.process import exporting
from tests.unit.slurm.recordings import recording
from tests.unit.slurm.restd import Behaviour, Restd, hang, http

VERSION = "v0.0.45"
STOP_SECONDS = 5.0


def slurmrestd(restd: Restd, **instead: Behaviour) -> None:
    for what in ("ping", "nodes", "jobs", "partitions", "diag"):
        restd.on(
            f"GET /slurm/{VERSION}/{what}/", instead.get(what) or http(200, recording("26.05", VERSION, what))
        )


@pytest.fixture
async def restd() -> AsyncIterator[Restd]:
    fake = Restd()
    server = await asyncio.start_server(fake.serve, "127.0.0.1", 0, limit=1 << 20)
    fake.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    yield fake
    server.close()
    for task in asyncio.all_tasks() - {asyncio.current_task()}:
        task.cancel()


async def test_it_shows_slurm_and_stops_in_time(restd: Restd) -> None:
    slurmrestd(restd)
    async with exporting(restd.url, static_token="abc.def.ghi") as exporter:
        series = await exporter.page(
            "slurm_node_info", "slurm_job_info", "slurm_partition_up", "slurm_rpc_calls_total"
        )
        took = await exporter.stop()

    assert one(series, "slurm_cluster_nodes_total") == 2
    assert {seen.headers.get("X-SLURM-USER-TOKEN") for seen in restd.seen} == {"abc.def.ghi"}
    assert (exporter.process.returncode, took < STOP_SECONDS) == (0, True)


async def test_it_stops_in_time_while_slurm_hangs(restd: Restd) -> None:
    slurmrestd(restd, jobs=hang, nodes=hang)
    async with exporting(restd.url, static_token="abc.def.ghi") as exporter:
        await exporter.page("slurm_rpc_calls_total")
        took = await exporter.stop()

    assert (exporter.process.returncode, took < STOP_SECONDS) == (0, True)


async def test_without_a_token_scontrol_is_asked_for_one(restd: Restd, tmp_path: Path) -> None:
    slurmrestd(restd)
    scontrol = tmp_path / "scontrol"
    scontrol.write_text('#!/bin/sh\necho "$@" >> "$0.asked"\necho SLURM_JWT=from.scontrol.itself\n')
    scontrol.chmod(0o755)
    async with exporting(restd.url, scontrol_path=str(scontrol)) as exporter:
        await exporter.page("slurm_node_info")

    assert {seen.headers.get("X-SLURM-USER-TOKEN") for seen in restd.seen} == {"from.scontrol.itself"}
    assert (tmp_path / "scontrol.asked").read_text() == "token lifespan=1800\n"


async def test_what_grows_with_users_habits_can_be_switched_off(restd: Restd) -> None:
    slurmrestd(restd)
    switches: dict[str, str | bool] = {
        "job_series": False, "metrics_generation": "1.22", "omitted_labels": "reason,address"
    }  # fmt: skip
    async with exporting(restd.url, static_token="abc.def.ghi", **switches) as exporter:
        series = await exporter.page("slurm_node_info", "slurm_partition_up", "slurm_jobs_running")

    assert not names(series) & {"slurm_job_info", "slurm_node_job", "slurm_node_cpus_total"}
    assert not {"reason", "address", "comment"} & set(of(series, "slurm_node_info")[0][0])


async def test_it_serves_although_nobody_answers(restd: Restd) -> None:
    async with exporting("http://127.0.0.1:9", static_token="abc.def.ghi") as exporter:
        series = await exporter.page()

    assert series == {}
