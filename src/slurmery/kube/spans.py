"""Spans as OpenTelemetry's interface wants them, which become records of its protocol when they end."""

import random
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.trace import SpanContext, SpanKind, Status, StatusCode, TraceFlags
from opentelemetry.util import types

Record = dict[str, Any]
Ended = Callable[[Record], None]


class Provider(trace.TracerProvider):
    """Gives every span that ended to `ended`."""

    def __init__(self, ended: Ended) -> None:
        self._tracer = _Tracer(ended)

    def get_tracer(self, *_: Any, **__: Any) -> trace.Tracer:
        return self._tracer


class _Tracer(trace.Tracer):
    def __init__(self, ended: Ended) -> None:
        self._ended = ended

    def start_span(
        self,
        name: str,
        context: Context | None = None,
        kind: SpanKind = SpanKind.INTERNAL,
        attributes: types.Attributes = None,
        *_: Any,
        **__: Any,
    ) -> trace.Span:
        parent = trace.get_current_span(context).get_span_context()
        number = parent.trace_id if parent.is_valid else random.getrandbits(128)
        own = SpanContext(number, random.getrandbits(64), False, TraceFlags(TraceFlags.SAMPLED))
        # The protocol has a number for "unspecified", the interface has not.
        record: Record = {"name": name, "kind": kind.value + 1}
        record |= {"parentSpanId": f"{parent.span_id:016x}"} if parent.is_valid else {}
        span = _Span(own, record, self._ended)
        span.set_attributes(attributes or {})
        return span

    @contextmanager
    def start_as_current_span(  # type: ignore[override]
        self, name: str, *arguments: Any, **settings: Any
    ) -> Iterator[trace.Span]:
        with trace.use_span(self.start_span(name, *arguments, **settings), end_on_exit=True) as span:
            yield span


class _Span(trace.Span):
    """A record in the making."""

    def __init__(self, context: SpanContext, record: Record, ended: Ended) -> None:
        self._context = context
        self._attributes: Record = {}
        self._events: list[Record] = []
        self._record = {
            "traceId": f"{context.trace_id:032x}",
            "spanId": f"{context.span_id:016x}",
            "startTimeUnixNano": str(time.time_ns()),
            **record,
        }
        self._ended: Ended | None = ended

    def end(self, end_time: int | None = None) -> None:
        if self._ended is None:
            return
        done = {"endTimeUnixNano": str(end_time or time.time_ns()), "events": self._events}
        self._ended({**self._record, **done, "attributes": pairs(self._attributes)})
        self._ended = None

    def get_span_context(self) -> SpanContext:
        return self._context

    def is_recording(self) -> bool:
        return self._ended is not None

    def set_attribute(self, key: str, value: types.AttributeValue) -> None:
        self._attributes[key] = value

    def set_attributes(self, attributes: Mapping[str, types.AttributeValue]) -> None:
        self._attributes.update(attributes)

    def add_event(self, name: str, attributes: types.Attributes = None, timestamp: int | None = None) -> None:
        at = str(timestamp or time.time_ns())
        self._events.append({"name": name, "timeUnixNano": at, "attributes": pairs(attributes or {})})

    def update_name(self, name: str) -> None:
        self._record["name"] = name

    def set_status(self, status: Status | StatusCode, description: str | None = None) -> None:
        whole = status if isinstance(status, Status) else Status(status, description)
        self._record["status"] = {"code": whole.status_code.value, "message": whole.description or ""}

    def record_exception(
        self,
        exception: BaseException,
        attributes: types.Attributes = None,
        timestamp: int | None = None,
        *_: Any,
        **__: Any,
    ) -> None:
        said = {"exception.type": type(exception).__name__, "exception.message": str(exception)}
        self.add_event("exception", {**said, **(attributes or {})}, timestamp)


def pairs(attributes: Mapping[str, Any]) -> list[Record]:
    """Attributes as the protocol writes them."""
    return [{"key": key, "value": _value(value)} for key, value in attributes.items()]


def _value(value: object) -> Record:
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int):
        return {"intValue": str(value)}
    return {"stringValue": str(value)}
