"""Log lines: a constant message and key-values, as JSON for machines or plain for people.

    log = logs.logger("nodeset")
    log.info("Pod created", pod="slurm/gpu-0")

Words bound with `structlog.contextvars` (the controller and its key) appear on every line below. What
libraries say through the standard `logging` module comes out in the same form. Values are never formatted
into the message, and secrets are not values.
"""

import logging
import sys
import time
from collections.abc import Callable
from enum import StrEnum
from typing import Final, TextIO

import msgspec
import structlog
from structlog.typing import EventDict, Processor, WrappedLogger

Logger = structlog.typing.FilteringBoundLogger


class Format(StrEnum):
    JSON = "json"
    PLAIN = "plain"


class Times(StrEnum):
    """How times look: ISO 8601 in UTC, or seconds, milliseconds or nanoseconds since 1970."""

    ISO8601 = "iso8601"
    EPOCH = "epoch"
    MILLIS = "millis"
    NANO = "nano"


_COUNTED: Final[dict[Times, Callable[[], float]]] = {
    Times.EPOCH: time.time,
    Times.MILLIS: lambda: time.time_ns() / 1e6,
    Times.NANO: time.time_ns,
}
LEVELS: Final = {
    "debug": logging.DEBUG,
    "info": logging.INFO,
    "warn": logging.WARNING,
    "warning": logging.WARNING,
    "error": logging.ERROR,
}


def logger(name: str) -> Logger:
    """A logger that says where its lines come from; usable at module level, before `configure`."""
    log: Logger = structlog.get_logger(source=name)
    return log


def configure(
    style: Format, level: str, stream: TextIO | None = None, *, times: Times = Times.ISO8601
) -> None:
    """Set up all logging of the process: to stderr unless told otherwise."""
    out = stream or sys.stderr
    shared: list[Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        _stamper(times),
    ]
    render = _plain(out) if style is Format.PLAIN else _json
    structlog.configure(
        processors=[*shared, render],
        wrapper_class=structlog.make_filtering_bound_logger(LEVELS[level]),
        logger_factory=structlog.WriteLoggerFactory(out),
        # Loggers live at module level, and may be used before this.
        cache_logger_on_first_use=False,
    )
    handler = logging.StreamHandler(out)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=[*shared, _origin],
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, render],
        )
    )
    logging.basicConfig(handlers=[handler], level=max(LEVELS[level], logging.INFO), force=True)


def _stamper(times: Times) -> Processor:
    count = _COUNTED.get(times)
    if count is None:
        return structlog.processors.TimeStamper(fmt="iso", utc=True, key="ts")

    def stamp(_: WrappedLogger, __: str, event: EventDict) -> EventDict:
        event["ts"] = count()
        return event

    return stamp


def _plain(out: TextIO) -> Processor:
    return structlog.dev.ConsoleRenderer(
        colors=out.isatty(), timestamp_key="ts", exception_formatter=structlog.dev.plain_traceback
    )


def _json(log: WrappedLogger, method: str, event: EventDict) -> str:
    event = dict(structlog.processors.format_exc_info(log, method, event))
    line = {"level": event.pop("level"), "ts": event.pop("ts"), "msg": event.pop("event"), **event}
    return msgspec.json.encode(line, enc_hook=str).decode()


def _origin(_: WrappedLogger, __: str, event: EventDict) -> EventDict:
    record: logging.LogRecord = event["_record"]
    event["source"] = record.name
    return event
