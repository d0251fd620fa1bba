"""Spans for OpenTelemetry: each reconcile, and within it each call to Kubernetes and Slurm.

They are sent to a collector as OTLP over HTTP, in JSON, when the usual variables ask for it:

    OTEL_EXPORTER_OTLP_ENDPOINT=http://collector:4318     or OTEL_EXPORTER_OTLP_TRACES_ENDPOINT, the whole URL
    OTEL_EXPORTER_OTLP_HEADERS=authorization=Bearer%20x   OTEL_SERVICE_NAME=slurmery   OTEL_SDK_DISABLED=true

Where a process brings OpenTelemetry's own SDK along and has set it up, that is used and this stays out of the
way. A collector that does not answer costs spans, never work.
"""

import asyncio
import contextlib
from collections import deque
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import Final
from urllib.parse import unquote

import aiohttp
import msgspec
from opentelemetry import trace
from opentelemetry.trace import SpanKind

from slurmery.kube.logs import logger
from slurmery.kube.spans import Provider, Record, pairs

log = logger("tracing")
tracer = trace.get_tracer("slurmery")

_EVERY_SECONDS: Final = 2.0
_SEND_SECONDS: Final = 5.0
# Part of the five seconds that a process has to stop in.
_LAST_SECONDS: Final = 0.4
_KEPT: Final = 4096


@contextmanager
def call(name: str) -> Iterator[trace.Span]:
    """A call to somebody else; a span of its own if it is part of something that is traced."""
    if not trace.get_current_span().is_recording():
        yield trace.INVALID_SPAN
        return
    with tracer.start_as_current_span(name, kind=SpanKind.CLIENT) as span:
        yield span


@dataclass(frozen=True)
class Collector:
    """Where spans go."""

    url: str
    headers: Mapping[str, str]
    service: str

    @classmethod
    def of(cls, environ: Mapping[str, str]) -> "Collector | None":
        """What the environment asks for; None if for nothing."""
        base = environ.get("OTEL_EXPORTER_OTLP_ENDPOINT", "").rstrip("/")
        url = environ.get("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") or (base and f"{base}/v1/traces")
        if not url or environ.get("OTEL_SDK_DISABLED", "").lower() == "true":
            return None
        pairs = (pair.partition("=") for pair in environ.get("OTEL_EXPORTER_OTLP_HEADERS", "").split(","))
        headers = {name.strip(): unquote(value.strip()) for name, _, value in pairs if name.strip()}
        return cls(url, headers, environ.get("OTEL_SERVICE_NAME") or "slurmery")


@asynccontextmanager
async def exporting(environ: Mapping[str, str]) -> AsyncIterator[None]:
    """Send spans meanwhile, if the environment asks for it."""
    collector = Collector.of(environ)
    if collector is None or not isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider):
        yield
        return
    ended: deque[Record] = deque(maxlen=_KEPT)
    trace.set_tracer_provider(Provider(ended.append))
    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=_SEND_SECONDS)) as session:
        sending = asyncio.create_task(_keep_sending(session, collector, ended))
        try:
            yield
        finally:
            sending.cancel()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_LAST_SECONDS):
                    await _send(session, collector, ended)


async def _keep_sending(session: aiohttp.ClientSession, collector: Collector, ended: deque[Record]) -> None:
    while True:
        await asyncio.sleep(_EVERY_SECONDS)
        await _send(session, collector, ended)


async def _send(session: aiohttp.ClientSession, collector: Collector, ended: deque[Record]) -> None:
    spans = list(ended)
    ended.clear()
    if not spans:
        return
    scope = {"scope": {"name": "slurmery"}, "spans": spans}
    resource = {"attributes": pairs({"service.name": collector.service})}
    body = msgspec.json.encode({"resourceSpans": [{"resource": resource, "scopeSpans": [scope]}]})
    headers = {"Content-Type": "application/json", **collector.headers}
    try:
        async with session.post(collector.url, data=body, headers=headers) as answer:
            answer.raise_for_status()
    except (aiohttp.ClientError, TimeoutError) as error:
        log.warning(
            "Spans not sent", collector=collector.url, spans=len(spans), error=str(error) or "timeout"
        )
