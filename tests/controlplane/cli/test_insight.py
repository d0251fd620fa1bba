"""What a whole program tells about itself, and to whom."""

from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import pytest
from aiohttp import web
from prometheus_client.parser import text_string_to_metric_families

from slurmery.kube.client import Client
from tests.controlplane.kube.accounts import metrics_reader, token

from .program import Start, until
from .work import ask_for_a_token, issued

PROMISED = {
    "controller_runtime_reconcile",
    "controller_runtime_reconcile_errors",
    "controller_runtime_reconcile_time_seconds",
    "controller_runtime_max_concurrent_reconciles",
    "controller_runtime_active_workers",
    "workqueue_depth",
    "workqueue_adds",
    "workqueue_retries",
    "workqueue_queue_duration_seconds",
    "workqueue_work_duration_seconds",
    "workqueue_unfinished_work_seconds",
    "workqueue_longest_running_processor_seconds",
    "rest_client_requests",
    "leader_election_master_status",
    "process_cpu_seconds",
    "process_resident_memory_bytes",
}


async def test_metrics_are_for_those_whom_kubernetes_allows(
    client: Client, namespace: str, start: Start
) -> None:
    operator = await start("slurmery operator", "--metrics-secure")
    url = f"https://{operator.metrics}/metrics"
    stranger = await token(client, namespace, "stranger")
    async with metrics_reader(client, namespace) as reader:
        assert (await operator.get(url))[0] == 401
        assert (await operator.get(url, "nonsense"))[0] == 401
        assert (await operator.get(url, stranger))[0] == 403
        await ask_for_a_token(client, namespace)
        await until(lambda: issued(client, namespace))
        status, page = await operator.get(url, reader)

    assert status == 200
    families = {family.name: family.samples for family in text_string_to_metric_families(page)}
    assert families.keys() >= PROMISED
    reconciles = {
        (sample.labels["controller"], sample.labels["result"]): sample.value
        for sample in families["controller_runtime_reconcile"]
    }
    assert any(controller == "token" and count for (controller, _), count in reconciles.items()), reconciles
    with pytest.raises(aiohttp.ClientError):
        await operator.get(f"http://{operator.metrics}/metrics")


@pytest.fixture
async def spans() -> AsyncIterator[tuple[str, list[dict[str, Any]]]]:
    """A collector of OpenTelemetry: its address, and the spans that came."""
    found: list[dict[str, Any]] = []

    async def take(request: web.Request) -> web.Response:
        for resource in (await request.json())["resourceSpans"]:
            [name] = resource["resource"]["attributes"]
            assert name == {"key": "service.name", "value": {"stringValue": "our-operator"}}
            found.extend(span for scope in resource["scopeSpans"] for span in scope["spans"])
        return web.json_response({"partialSuccess": {}})

    app = web.Application()
    app.add_routes([web.post("/v1/traces", take)])
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    yield f"http://127.0.0.1:{runner.addresses[0][1]}", found
    await runner.cleanup()


async def test_a_reconcile_and_its_calls_are_spans(
    client: Client, namespace: str, start: Start, spans: tuple[str, list[dict[str, Any]]]
) -> None:
    url, found = spans
    operator = await start(
        "slurmery operator", OTEL_EXPORTER_OTLP_ENDPOINT=url, OTEL_SERVICE_NAME="our-operator"
    )
    await ask_for_a_token(client, namespace)
    await until(lambda: issued(client, namespace))
    assert (await operator.stop())[0] == 0

    reconciles = [span for span in found if span["name"] == "reconcile token"]
    calls = {
        child["name"]: (span["traceId"] == child["traceId"], child["kind"])
        for span in reconciles
        for child in found
        if child.get("parentSpanId") == span["spanId"]
    }
    assert calls["PATCH secrets"] == (True, 3)
    assert calls["PATCH tokens"] == (True, 3)
    for span in reconciles:
        assert {"key": "key", "value": {"stringValue": f"{namespace}/token"}} in span["attributes"]
        assert int(span["startTimeUnixNano"]) <= int(span["endTimeUnixNano"])
    # Watches and the lease's renewals are nobody's children, and not traced.
    assert all(span.get("parentSpanId") or span["name"].startswith("reconcile ") for span in found)
