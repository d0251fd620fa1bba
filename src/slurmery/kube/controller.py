"""Controllers: changes in, one reconcile per key at a time out.

informer ──(old, new)──► keys of the objects concerned ──► work queue ──► reconcile(key)
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from opentelemetry.trace import StatusCode
from structlog.contextvars import bound_contextvars

from slurmery.kube import metrics
from slurmery.kube.errors import KubeError
from slurmery.kube.informer import Informer
from slurmery.kube.logs import logger
from slurmery.kube.meta import Key, Resource, View
from slurmery.kube.tracing import tracer
from slurmery.kube.workqueue import Closed, Priority, WorkQueue

log = logger("controller")

V = TypeVar("V", bound=View)


@dataclass(frozen=True)
class Result:
    """The reconcile did all it could. With `requeue_after`, it is run again after so many seconds."""

    requeue_after: float | None = None


class TerminalError(Exception):
    """Only a person can mend it, by changing the object. `reason` is a CamelCase word, `message` prose."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message


class Reconciler(Protocol):
    """Makes the world match one object.

    It is called with a key, never with what happened: it looks at the object (or finds that it is gone) and
    at the world as they are now, does what is missing, and returns. It may be called at any time and any
    number of times, so doing it again must do nothing. It is never called for the same key twice at once.

    Returning a Result is success, and forgets earlier failures; the latest Result alone decides whether and
    when to look again without a cause. Raising an error means "try again": after a back-off which grows with
    each failure of this key and of no other. Raising TerminalError means "do not try again": it is reported,
    and the key rests until something it watches changes. Waiting belongs into `requeue_after`, not into the
    reconciler: one that runs past its time limit is cancelled, and counts as failed.
    """

    async def __call__(self, key: Key, /) -> Result: ...


Keys = Callable[[V], Iterable[Key]]
Report = Callable[[Key, TerminalError], Awaitable[None]]


async def unreported(_: Key, error: TerminalError) -> None:
    """For kinds that raise none: whatever a person must mend is in their conditions."""
    raise error


class Controller:
    """The workers of one kind.

    Guarantees: an error stays with its key; `stop` lets work in flight finish and starts none.
    Assumptions: `report` tells people about a TerminalError, in a condition and an Event; if it fails, the
    key is retried like after any error.
    """

    def __init__(
        self, name: str, reconcile: Reconciler, report: Report, *, workers: int = 1, time_limit: float = 180.0
    ) -> None:
        self.name = name
        self.queue: WorkQueue[Key] = WorkQueue(name)
        self._reconcile = reconcile
        self._report = report
        self._workers = workers
        self._time_limit = time_limit
        self._primary: list[Informer[Any]] = []
        metrics.MAX_WORKERS.labels(name).set(workers)

    def watch(
        self,
        informer: Informer[V],
        keys: Keys[V] | None = None,
        *,
        relevant: Callable[[V, V], bool] | None = None,
        pause: Callable[[Key], float] | None = None,
    ) -> None:
        """Reconcile the keys of whatever changes there; without `keys`, the changed object itself.

        When an object passes from one owner to another, both are looked at. `relevant` may say of an update
        that it is of no concern. `pause` says for how many seconds the changes that concern a key are
        gathered, to be looked at together.
        """
        find: Keys[V] = keys or itself
        if keys is None:
            self._primary.append(informer)

        def handle(old: V | None, new: V | None) -> None:
            if old and new and relevant and not relevant(old, new):
                return
            # What is there at the start has waited already; what people do meanwhile comes first.
            priority = Priority.CHANGE if informer.synced.is_set() else Priority.RESYNC
            for view in (old, new):
                for key in find(view) if view else ():
                    if pause:
                        self.queue.add_after(key, pause(key), priority)
                    else:
                        self.queue.add(key, priority)

        informer.subscribe(handle)

    def resync(self) -> None:
        """Look at every object again when there is time."""
        for informer in self._primary:
            for view in informer.store.all():
                self.queue.add(view.key, Priority.RESYNC)

    async def run(self) -> None:
        """Work until stopped."""
        async with asyncio.TaskGroup() as tasks:
            for _ in range(self._workers):
                tasks.create_task(self._work())

    def stop(self) -> None:
        """Start nothing more; `run` returns when what is in flight is done."""
        self.queue.close()

    async def _work(self) -> None:
        while True:
            try:
                key = await self.queue.get()
            except Closed:
                return
            try:
                with (
                    bound_contextvars(controller=self.name, key=str(key)),
                    tracer.start_as_current_span(
                        f"reconcile {self.name}", attributes={"key": str(key)}
                    ) as span,
                    metrics.ACTIVE_WORKERS.labels(self.name).track_inprogress(),
                    metrics.RECONCILE_SECONDS.labels(self.name).time(),
                ):
                    result = await self._attempt(key)
                    span.set_attribute("result", result)
                    span.set_status(StatusCode.ERROR if result == "error" else StatusCode.OK)
                metrics.RECONCILES.labels(self.name, result).inc()
            finally:
                self.queue.done(key)

    async def _attempt(self, key: Key) -> str:
        """Reconcile once, whatever may happen; the answer is the label for the metrics."""
        started = time.monotonic()
        try:
            async with asyncio.timeout(self._time_limit) as limit:
                result = await self._once(key)
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task and task.cancelling():
                raise
            # Something within was cancelled, not this worker: it must not go down with it.
            log.exception("Reconcile was cancelled from within")
        except TimeoutError:
            if limit.expired():
                metrics.RECONCILE_TIMEOUTS.labels(self.name).inc()
            log.exception("Reconcile timed out", seconds=time.monotonic() - started)
        except KubeError as error:
            log.warning("Reconcile failed", error=str(error))
        except Exception:
            log.exception("Reconcile failed")
        else:
            self.queue.forget(key)
            log.info("Reconciled", seconds=round(time.monotonic() - started, 3))
            if result.requeue_after is None:
                return "success"
            self.queue.add_after(key, result.requeue_after)
            return "requeue_after"
        metrics.RECONCILE_ERRORS.labels(self.name).inc()
        self.queue.retry(key)
        return "error"

    async def _once(self, key: Key) -> Result:
        try:
            return await self._reconcile(key)
        except TerminalError as error:
            metrics.TERMINAL_ERRORS.labels(self.name).inc()
            log.warning("Reconcile refused", reason=error.reason, error=error.message)
            await self._report(key, error)
            return Result()


def itself(view: View) -> Iterable[Key]:
    """The key of the object itself."""
    return (view.key,)


def controller_of(resource: Resource) -> Callable[[View], Iterable[Key]]:
    """The key of the object's controller, if that is of this kind: for children that are watched."""

    def find(view: View) -> Iterable[Key]:
        owner = view.controller
        # Of an owner reference, the version may be an older one of the same group.
        group = owner.api_version.rpartition("/")[0] if owner else ""
        if owner is None or owner.kind != resource.kind or group != resource.group:
            return ()
        return (Key(view.metadata.namespace if resource.namespaced else "", owner.name),)

    return find


def not_only_status(old: View, new: View) -> bool:
    """Relevant if more than the status changed: our own status writes must not wake us."""
    return _wishes(old) != _wishes(new)


def _wishes(view: View) -> tuple[object, ...]:
    meta = view.metadata
    return (
        meta.uid,
        meta.generation,
        meta.deletion_timestamp,
        meta.finalizers,
        view.labels,
        view.annotations,
    )
