"""From a real Slurm through the exporter into a real Prometheus, with the rules that we ship."""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Iterable
from pathlib import Path

import pytest

from slurmery.slurm.client import SlurmClient
from slurmery.slurm.model import Number
from slurmery.slurm.requests import JobFilter, JobRequest, NodeUpdate
from slurmery.slurm.tokens import SignedTokens, sign
from tests.e2e.exporter.prometheus import Prometheus, prometheus
from tests.e2e.slurm.lab import Lab
from tests.unit.exporter.parsed import of, one
from tests.unit.exporter.process import Exporter, exporting

RULES = Path(__file__).parents[3] / "charts/slurmery-monitoring/rules/slurm.yaml"
AWKWARD = 'a "quoted" \\ name\nwith {curly="braces"} and é'
REASON = 'bad "GPU" 0'


@pytest.fixture
async def slurm(lab: Lab) -> AsyncIterator[SlurmClient]:
    async def key() -> bytes:
        return lab.key

    client = SlurmClient(lab.url, SignedTokens(key))
    yield client
    await client.cancel_jobs(JobFilter(user_name="slurm"))
    lab.run(
        "sh", "-c", "scontrol update nodename=n1 state=undrain || scontrol update nodename=n1 state=resume"
    )
    lab.wait_until_idle()


@pytest.fixture
async def exporter(lab: Lab) -> AsyncIterator[Exporter]:
    token = sign(lab.key, user="slurm", issued=int(time.time()), life=600)
    async with exporting(lab.url, static_token=token) as running:
        yield running


@pytest.fixture
async def scraper(exporter: Exporter, prometheus_programs: Path, tmp_path: Path) -> AsyncIterator[Prometheus]:
    ports = {"slurm": exporter.port, "exporter": exporter.own_port}
    async with prometheus(prometheus_programs, tmp_path, RULES, **ports) as running:
        yield running


def job(name: str, **more: object) -> JobRequest:
    return JobRequest(
        name=name,
        current_working_directory="/tmp",
        environment=("PATH=/usr/bin:/bin",),
        memory_per_node=Number(number=100),
        **more,  # type: ignore[arg-type]
    )


async def test_prometheus_sees_what_slurm_says(slurm: SlurmClient, scraper: Prometheus) -> None:
    running = await slurm.submit(
        "#!/bin/sh\nsleep 600\n", job(AWKWARD, required_nodes=("n0",), tres_per_node="gres/gpu:h200:2")
    )
    waiting = await slurm.submit("#!/bin/sh\ntrue\n", job("waiting", hold=True, array="1-3"))
    [(info, _)] = await scraper.until(f'slurm_job_info{{job_id="{running}",job_state="RUNNING"}}')

    assert info["job_name"] == (await slurm.job(running)).name
    assert [
        metric["node_name"] for metric, _ in await scraper.until(f'slurm_node_job{{job_id="{running}"}}')
    ] == ["n0"]
    assert await scraper.until(f'slurm_job_duration_seconds{{job_id="{running}"}} > 1')
    assert await scraper.until(
        f'slurm_job_info{{job_id="{waiting}",job_state="PENDING",job_state_reason="JobHeldUser"}}'
    )
    assert await scraper.until('slurm_partition_jobs_pending{partition="all"} == 3')
    assert await scraper.until('slurm_partition_jobs_gpus_alloc{partition="all"} == 2')
    assert await scraper.until('slurm_node_info{node_name="n0",state_base="MIXED"}')
    assert await scraper.until(
        'rate(slurm_node_gpu_seconds_total{node_name="n0",state_base="MIXED"}[10s]) > 1.5'
    )
    assert await scraper.until("slurm_cluster_nodes_total == 2")
    assert await scraper.until('slurm_controller_rpc_calls_total{message_type="REQUEST_NODE_INFO"} > 0')
    assert await scraper.until('slurm_exporter_collector_errors_total{collector="nodes"} == 0')
    assert [value for _, value in await scraper.query('min(up{job=~"slurm|exporter"})')] == [1]


async def test_an_outage_is_counted_and_measured(slurm: SlurmClient, scraper: Prometheus) -> None:
    await scraper.until('slurm_node_info{node_name="n1",state_is_drain="false"}')
    await slurm.update_node("n1", NodeUpdate(state=("DRAIN",), reason=REASON))
    [(failure, count)] = await scraper.until('slurm_node_fails_total{node_name="n1"}')
    assert (failure["reason"], failure["state_is_drain"], count) == (REASON, "true", 1)
    await asyncio.sleep(2)
    await slurm.update_node("n1", NodeUpdate(state=("UNDRAIN",)))

    [(_, seconds)] = await scraper.until('slurm_node_unavailability_duration_seconds_sum{node_name="n1"}')
    assert 1 < seconds < 60
    assert await scraper.until('slurm_node_unavailability_duration_seconds_count{node_name="n1"} == 1')


async def test_an_outage_outlives_the_exporter(lab: Lab, slurm: SlurmClient) -> None:
    await slurm.update_node("n1", NodeUpdate(state=("DRAIN",), reason=REASON))
    drained = time.monotonic()
    token = sign(lab.key, user="slurm", issued=int(time.time()), life=600)
    async with exporting(lab.url, static_token=token) as first:
        await first.page("slurm_node_info")
    await asyncio.sleep(3)
    async with exporting(lab.url, static_token=token) as second:
        await second.page("slurm_node_info")
        await slurm.update_node("n1", NodeUpdate(state=("UNDRAIN",)))
        lasted = time.monotonic() - drained
        series = await second.page("slurm_node_unavailability_duration_seconds_sum")

    # Slurm notes whole seconds.
    assert one(series, "slurm_node_unavailability_duration_seconds_sum", node_name="n1") == pytest.approx(
        lasted, abs=2
    )


async def test_the_page_outlives_slurmctld(lab: Lab, slurm: SlurmClient, exporter: Exporter) -> None:
    await exporter.page(
        "slurm_node_info", "slurm_job_info" if await slurm.job_states() else "slurm_jobs_running"
    )
    lab.signal_slurmctld("STOP")
    try:
        await asyncio.sleep(4)
        series = await exporter.page("slurm_node_info")
        assert one(series, "slurm_exporter_data_age_seconds", collector="nodes") > 3
        assert one(series, "slurm_cluster_nodes_total") == 2
    finally:
        lab.signal_slurmctld("CONT")


async def test_the_rules_are_sound_and_loaded(scraper: Prometheus, prometheus_programs: Path) -> None:
    await promtool(prometheus_programs, "check", "rules", RULES)
    await scraper.until("slurm_node_info")
    await scraper.until("slurm:nodes_unavailable:ratio == 0")
    groups = (await scraper.get("rules"))["groups"]

    assert {rule["health"] for group in groups for rule in group["rules"]} <= {"ok", "unknown"}


async def test_the_alerts_say_what_is_wrong(
    slurm: SlurmClient, exporter: Exporter, prometheus_programs: Path, tmp_path: Path
) -> None:
    """What the real exporter shows of a drained node, prolonged to hours, and what promtool makes of it."""
    await exporter.page("slurm_node_info", "slurm_partition_up")
    await slurm.update_node("n1", NodeUpdate(state=("DRAIN",), reason=REASON))
    series = await exporter.page("slurm_node_fails_total", "slurm_partition_up")
    [info] = [labels for labels, _ in of(series, "slurm_node_info") if labels["node_name"] == "n1"]
    drained = {
        "exp_labels": {"severity": "info"} | {name: value for name, value in info.items() if value},
        "exp_annotations": {
            "summary": "Node n1 has been drained for hours.",
            "description": f"The reason given is: {REASON}",
        },
    }
    many = {
        "exp_labels": {"severity": "critical"},
        "exp_annotations": {"summary": "50% of the nodes are down or drained."},
    }
    expected = {
        "SlurmNodeDrained": [drained],
        "SlurmManyNodesUnavailable": [many],
        **{f"Slurm{quiet}": [] for quiet in ("MetricsAbsent", "NodeDown", "PartitionDown", "QueueStuck")},
    }
    day = {
        "interval": "5m",
        "input_series": [
            {"series": f"{name}{{{_labels(labels)}}}", "values": f"{value}+0x100"}
            for (name, labels), value in series.items()
        ],
        "alert_rule_test": [
            {"eval_time": "5m", "alertname": "SlurmNodeDrained", "exp_alerts": []},
            *(
                {"eval_time": "7h", "alertname": name, "exp_alerts": alerts}
                for name, alerts in expected.items()
            ),
        ],
    }
    checks = tmp_path / "checks.yaml"
    checks.write_text(json.dumps({"rule_files": [str(RULES)], "evaluation_interval": "5m", "tests": [day]}))

    await promtool(prometheus_programs, "test", "rules", checks)


async def promtool(programs: Path, *arguments: str | Path) -> None:
    process = await asyncio.create_subprocess_exec(
        programs / "promtool", *arguments, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
    )
    said, _ = await process.communicate()
    assert process.returncode == 0, said.decode()


def _labels(labels: Iterable[tuple[str, str]]) -> str:
    return ",".join(f"{name}={json.dumps(value)}" for name, value in labels)
