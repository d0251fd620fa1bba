"""The operator's own figures, under the names that dashboards for Go controllers already draw.

Everything lives in prometheus-client's default registry, beside its process, platform and gc collectors;
`render` is the scrape. Figures that are true only at that moment (queue depth, age of work) are functions.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

import prometheus_client
from prometheus_client import CONTENT_TYPE_LATEST, Counter, Gauge, Histogram, generate_latest

prometheus_client.disable_created_metrics()  # type: ignore[no-untyped-call]

CONTENT_TYPE: Final = CONTENT_TYPE_LATEST

_RECONCILE_BUCKETS: Final = (
    *(0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0),
    *(1.25, 1.5, 1.75, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5, 6, 7, 8, 9, 10, 15, 20, 25, 30, 40, 50, 60),
)
_QUEUE_BUCKETS: Final = tuple(10.0**exponent for exponent in range(-8, 4))

RECONCILES: Final = Counter(
    "controller_runtime_reconcile_total",
    "Reconciles by outcome: success, requeue_after or error.",
    ("controller", "result"),
)
RECONCILE_ERRORS: Final = Counter(
    "controller_runtime_reconcile_errors_total", "Reconciles that failed.", ("controller",)
)
TERMINAL_ERRORS: Final = Counter(
    "controller_runtime_terminal_reconcile_errors_total",
    "Reconciles that ended in an error only a person can mend.",
    ("controller",),
)
RECONCILE_TIMEOUTS: Final = Counter(
    "controller_runtime_reconcile_timeouts_total", "Reconciles cut off by their time limit.", ("controller",)
)
RECONCILE_SECONDS: Final = Histogram(
    "controller_runtime_reconcile_time_seconds",
    "Seconds per reconcile.",
    ("controller",),
    buckets=_RECONCILE_BUCKETS,
)
MAX_WORKERS: Final = Gauge(
    "controller_runtime_max_concurrent_reconciles", "Workers of the controller.", ("controller",)
)
ACTIVE_WORKERS: Final = Gauge(
    "controller_runtime_active_workers", "Workers now reconciling.", ("controller",)
)

REQUESTS: Final = Counter(
    "rest_client_requests_total",
    "Requests to the API server by status code, method and host.",
    ("code", "method", "host"),
)
LEADING: Final = Gauge(
    "leader_election_master_status", "1 while this process holds the lease of that name.", ("name",)
)
EVENTS: Final = Counter(
    "slurmery_events_total", "Kubernetes Events by fate: written, dropped or failed.", ("fate",)
)
APPLIED: Final = Counter(
    "slurmery_applied_objects_total", "Objects that went through the apply engine.", ("kind", "outcome")
)

_DEPTH: Final = Gauge("workqueue_depth", "Keys ready and waiting for a worker.", ("name",))
_ADDS: Final = Counter("workqueue_adds_total", "Keys that became ready.", ("name",))
_RETRIES: Final = Counter("workqueue_retries_total", "Keys put back after a failure.", ("name",))
_WAITED: Final = Histogram(
    "workqueue_queue_duration_seconds",
    "Seconds a ready key waited for a worker.",
    ("name",),
    buckets=_QUEUE_BUCKETS,
)
_WORKED: Final = Histogram(
    "workqueue_work_duration_seconds", "Seconds a worker held a key.", ("name",), buckets=_QUEUE_BUCKETS
)
_UNFINISHED: Final = Gauge(
    "workqueue_unfinished_work_seconds", "Seconds of work in progress, over all keys.", ("name",)
)
_LONGEST: Final = Gauge(
    "workqueue_longest_running_processor_seconds", "Seconds the oldest work in progress has run.", ("name",)
)


@dataclass(frozen=True)
class QueueMetrics:
    """The series of one named queue, looked up once."""

    adds: Counter
    retries: Counter
    waited: Histogram
    worked: Histogram


def queue_metrics(name: str, depth: Callable[[], int], running: Callable[[], list[float]]) -> QueueMetrics:
    """Series for the queue `name`; `running` gives the age in seconds of each piece of work in progress."""
    _DEPTH.labels(name).set_function(depth)
    _UNFINISHED.labels(name).set_function(lambda: sum(running()))
    _LONGEST.labels(name).set_function(lambda: max(running(), default=0.0))
    return QueueMetrics(_ADDS.labels(name), _RETRIES.labels(name), _WAITED.labels(name), _WORKED.labels(name))


def request_counter(server: str) -> Callable[[str, str, str, float], None]:
    """What a client calls after each exchange with the API server at this URL."""
    host = urlsplit(server).netloc

    def count(method: str, _resource: str, code: str, _seconds: float) -> None:
        REQUESTS.labels(code, method, host).inc()

    return count


def render() -> bytes:
    """One scrape in the text format."""
    return generate_latest()
