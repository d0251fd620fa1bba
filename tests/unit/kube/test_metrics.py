from collections.abc import Iterator

import pytest
from prometheus_client.parser import text_string_to_metric_families

from slurmery.kube import metrics
from slurmery.kube.controller import Controller, Result, TerminalError
from slurmery.kube.meta import Key
from slurmery.kube.workqueue import WorkQueue


def samples() -> Iterator[tuple[str, dict[str, str], float]]:
    for family in text_string_to_metric_families(metrics.render().decode()):
        for sample in family.samples:
            yield sample.name, sample.labels, sample.value


def value(series: str, /, **labels: str) -> float:
    (found,) = [number for name, words, number in samples() if name == series and words == labels]
    return found


async def test_a_queue_shows_its_depth_its_work_and_its_age() -> None:
    queue = WorkQueue[str]("metrics-queue")
    for key in "abc":
        queue.add(key)
    await queue.get()
    assert value("workqueue_depth", name="metrics-queue") == 2
    assert value("workqueue_adds_total", name="metrics-queue") == 3
    assert value("workqueue_queue_duration_seconds_count", name="metrics-queue") == 1
    assert value("workqueue_unfinished_work_seconds", name="metrics-queue") > 0
    assert value("workqueue_longest_running_processor_seconds", name="metrics-queue") > 0
    queue.retry("a")
    queue.done("a")
    assert value("workqueue_work_duration_seconds_count", name="metrics-queue") == 1
    assert value("workqueue_unfinished_work_seconds", name="metrics-queue") == 0
    assert value("workqueue_retries_total", name="metrics-queue") == 1
    queue.close()


@pytest.mark.looptime
async def test_a_controller_counts_its_reconciles_by_outcome() -> None:
    outcomes = {"fine": Result(), "later": Result(requeue_after=1000)}

    async def reconcile(key: Key) -> Result:
        if key.name == "bad":
            controller.stop()
            raise TerminalError("Bad", "Bad")
        if key.name == "bug":
            raise RuntimeError
        return outcomes[key.name]

    async def report(key: Key, error: TerminalError) -> None: ...

    controller = Controller("metrics-controller", reconcile, report)
    for name in ("fine", "later", "bug", "bad"):
        controller.queue.add(Key("", name))
    await controller.run()
    name = "metrics-controller"
    assert value("controller_runtime_reconcile_total", controller=name, result="success") == 2
    assert value("controller_runtime_reconcile_total", controller=name, result="requeue_after") == 1
    assert value("controller_runtime_reconcile_total", controller=name, result="error") == 1
    assert value("controller_runtime_reconcile_errors_total", controller=name) == 1
    assert value("controller_runtime_terminal_reconcile_errors_total", controller=name) == 1
    assert value("controller_runtime_reconcile_time_seconds_count", controller=name) == 4
    assert value("controller_runtime_max_concurrent_reconciles", controller=name) == 1
    assert value("controller_runtime_active_workers", controller=name) == 0


def test_requests_are_counted_by_code_method_and_host() -> None:
    observe = metrics.request_counter("https://10.0.0.1:6443/prefix")
    observe("GET", "pods", "200", 0.1)
    observe("GET", "nodes", "200", 0.1)
    observe("PATCH", "pods", "<error>", 0.1)
    labels = {"host": "10.0.0.1:6443"}
    assert value("rest_client_requests_total", code="200", method="GET", **labels) == 2
    assert value("rest_client_requests_total", code="<error>", method="PATCH", **labels) == 1


def test_the_process_itself_is_measured() -> None:
    names = {name for name, _, _ in samples()}
    assert {"process_resident_memory_bytes", "process_cpu_seconds_total", "process_open_fds"} <= names
    assert not any(name.endswith("_created") for name in names)
