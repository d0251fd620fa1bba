"""Spans and where they go; tests/controlplane/cli sees them arrive."""

from typing import Any

import pytest
from opentelemetry.trace import SpanKind, StatusCode

from slurmery.kube.spans import Provider
from slurmery.kube.tracing import Collector, call

BASE = "OTEL_EXPORTER_OTLP_ENDPOINT"


@pytest.mark.parametrize(
    ("environ", "url"),
    [
        ({BASE: "http://c:4318"}, "http://c:4318/v1/traces"),
        ({BASE: "http://c:4318/x/"}, "http://c:4318/x/v1/traces"),
        ({BASE: "http://c:4318", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://t/y"}, "http://t/y"),
        ({BASE: "http://c:4318", "OTEL_SDK_DISABLED": "true"}, None),
        ({}, None),
    ],
)
def test_the_usual_variables_say_where_spans_go(environ: dict[str, str], url: str | None) -> None:
    collector = Collector.of(environ)
    assert (collector and collector.url) == url


def test_headers_are_pairs_with_escapes() -> None:
    collector = Collector.of({BASE: "http://c", "OTEL_EXPORTER_OTLP_HEADERS": "a=Bearer%20x, b=y"})
    assert collector is not None
    assert collector.headers == {"a": "Bearer x", "b": "y"}


def test_an_error_within_a_span_is_told_and_passed_on() -> None:
    ended: list[dict[str, Any]] = []
    tracer = Provider(ended.append).get_tracer()
    with pytest.raises(ValueError, match="no"), tracer.start_as_current_span("outer"):  # noqa: PT012
        with tracer.start_as_current_span("inner", kind=SpanKind.CLIENT, attributes={"n": 1, "b": True}):
            pass
        raise ValueError("no")

    inner, outer = ended
    assert (inner["parentSpanId"], inner["traceId"]) == (outer["spanId"], outer["traceId"])
    assert (inner["kind"], outer["kind"]) == (3, 1)
    assert inner["attributes"] == [
        {"key": "n", "value": {"intValue": "1"}},
        {"key": "b", "value": {"boolValue": True}},
    ]
    assert "parentSpanId" not in outer
    assert outer["status"]["code"] == StatusCode.ERROR.value
    assert outer["events"][0]["name"] == "exception"


def test_a_call_that_belongs_to_nothing_is_not_traced() -> None:
    with call("GET pods") as span:
        assert not span.is_recording()
