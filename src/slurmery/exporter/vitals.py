"""The exporter's own figures: how its collections and its scrapes go.

A collection is one reading of one source. Two figures have a second name each, which the documents of older
exporters use.
"""

from __future__ import annotations

from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, ProcessCollector, generate_latest

_BY: Final = ("collector",)


class Vitals:
    """The figures of one exporter."""

    def __init__(self) -> None:
        own = self._registry = CollectorRegistry()
        ProcessCollector(registry=own)
        self._last: dict[str, float] = {}
        Gauge(
            "slurm_exporter_collection_duration_seconds",
            "Seconds of the last collection, of the slowest source.",
            registry=own,
        ).set_function(lambda: max(self._last.values(), default=0.0))
        self._attempts = Counter("slurm_exporter_collection_attempts", "Collections begun.", registry=own)
        self._failures = Counter("slurm_exporter_collection_failures", "Collections failed.", registry=own)
        self._failed = Counter("scollector_collection_errors", "Collections failed.", registry=own)
        self._requests = Counter("slurm_exporter_metrics_requests", "Scrapes.", registry=own)
        self._scrapes = Counter("soperator_metrics_requests", "Scrapes.", registry=own)
        self._exported = Gauge("slurm_exporter_metrics_exported", "Series in the last scrape.", registry=own)
        self._seconds = Gauge(
            "slurm_exporter_collector_duration_seconds", "Seconds of the last collection.", _BY, registry=own
        )
        self._errors = Counter("slurm_exporter_collector_errors", "Collections failed.", _BY, registry=own)
        self._inflight = Gauge(
            "slurm_exporter_collector_inflight", "Collections under way.", _BY, registry=own
        )
        self._skipped = Counter(
            "slurm_exporter_collector_skipped",
            "Collections not begun because earlier ones had not ended.",
            _BY,
            registry=own,
        )

    def begun(self, collector: str) -> None:
        self._attempts.inc()
        self._inflight.labels(collector).inc()
        self._skipped.labels(collector)  # so that it is 0 and not absent

    def ended(self, collector: str, seconds: float, *, failed: bool) -> None:
        self._inflight.labels(collector).dec()
        self._last[collector] = seconds
        self._seconds.labels(collector).set(seconds)
        self._errors.labels(collector).inc(failed)
        self._failures.inc(failed)
        self._failed.inc(failed)

    def skipped(self, collector: str) -> None:
        self._skipped.labels(collector).inc()

    def scraped(self, series: int) -> None:
        self._requests.inc()
        self._scrapes.inc()
        self._exported.set(series)

    def render(self) -> bytes:
        """One scrape of these figures in the text format."""
        return generate_latest(self._registry)
