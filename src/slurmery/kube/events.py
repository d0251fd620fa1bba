"""Kubernetes Events: sentences for people, attached to the object that they are about.

Recording never waits and never fails: an event goes into a bounded queue, and a task writes it when the API
server has time. The same sentence about the same object is one Event whose count grows (its series), written
at most every `flush` seconds; after six minutes without a repetition the next one is a new Event. An object
that talks too much is cut off for a while. What had to be dropped is counted.
"""

import asyncio
import time
import uuid
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final, Literal

from slurmery.kube import metrics
from slurmery.kube.client import Client
from slurmery.kube.errors import KubeError, NotFoundError
from slurmery.kube.logs import logger
from slurmery.kube.meta import Key, Resource
from slurmery.kube.resources import EVENTS

log = logger("events")

# The API server's limit for a note.
NOTE_LENGTH: Final = 1024
QUEUE_LENGTH: Final = 1000
SERIES_KEPT: Final = 4096
SILENCE: Final = 360.0


@dataclass(frozen=True)
class Regarding:
    """The object that an event is about."""

    resource: Resource
    key: Key
    uid: str = ""

    def reference(self) -> dict[str, str]:
        parts = {
            "apiVersion": self.resource.api_version,
            "kind": self.resource.kind,
            "name": self.key.name,
            "namespace": self.key.namespace,
            "uid": self.uid,
        }
        return {name: part for name, part in parts.items() if part}


@dataclass(frozen=True)
class Sentence:
    """What is said; equal sentences are repetitions of one another."""

    regarding: Regarding
    type: Literal["Normal", "Warning"]
    reason: str
    action: str
    note: str


@dataclass
class _Series:
    """One Event in the cluster. `name` is empty until it was written; `written` counts what it says."""

    last: float
    name: str = ""
    count: int = 0
    written: int = 0
    queued: bool = False
    seen: datetime = field(default_factory=lambda: datetime.now(UTC))


class Recorder:
    """Records the events of one controller. `run` writes them until cancelled; `flush` writes what waits."""

    def __init__(
        self,
        client: Client,
        controller: str,
        instance: str,
        *,
        flush: float = 30.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._client = client
        self._controller = controller
        self._instance = instance
        self._flush = flush
        self._clock = clock
        # Least recently said first; bounded.
        self._series: OrderedDict[Sentence, _Series] = OrderedDict()
        self._queue: asyncio.Queue[Sentence] = asyncio.Queue(QUEUE_LENGTH)
        self._budget = _Budget(clock)

    def record(
        self,
        regarding: Regarding,
        type_: Literal["Normal", "Warning"],
        reason: str,
        note: str,
        *,
        action: str = "Reconcile",
    ) -> None:
        """Say something about an object; `reason` and `action` are CamelCase words for machines."""
        sentence = Sentence(regarding, type_, reason, action, note[:NOTE_LENGTH])
        now = self._clock()
        series = self._series.get(sentence)
        if series is None or now - series.last > SILENCE:
            if not self._budget.spend(regarding.uid or str(regarding.key)):
                metrics.EVENTS.labels("dropped").inc()
                return
            series = self._series[sentence] = _Series(now)
        self._series.move_to_end(sentence)
        series.last, series.seen = now, datetime.now(UTC)
        series.count += 1
        if series.count == 1:
            self._enqueue(sentence, series)
        while len(self._series) > SERIES_KEPT:
            self._series.popitem(last=False)

    async def run(self) -> None:
        """Write new events at once, and the counts of repeated ones every `flush` seconds."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._write_repetitions())
            while True:
                await self._write(await self._queue.get())

    async def flush(self) -> None:
        """Write whatever waits: on the way out."""
        self._enqueue_repetitions()
        while not self._queue.empty():
            await self._write(self._queue.get_nowait())

    async def _write_repetitions(self) -> None:
        while True:
            await asyncio.sleep(self._flush)
            self._enqueue_repetitions()

    def _enqueue_repetitions(self) -> None:
        now = self._clock()
        for sentence, series in list(self._series.items()):
            if series.count > series.written:
                self._enqueue(sentence, series)
            if now - series.last > SILENCE:
                del self._series[sentence]

    def _enqueue(self, sentence: Sentence, series: _Series) -> None:
        # If the queue is full, the next round of repetitions tries again.
        if not series.queued and not self._queue.full():
            self._queue.put_nowait(sentence)
            series.queued = True

    async def _write(self, sentence: Sentence) -> None:
        series = self._series.get(sentence)
        if series is None:
            return
        series.queued = False
        if series.count == series.written:
            return  # queued again while it was being written
        count = series.count
        try:
            if series.name:
                await self._repeat(sentence, series)
            else:
                await self._create(sentence, series)
        except NotFoundError:
            series.name = ""  # expired in the cluster, or its namespace is gone
        except KubeError as error:
            metrics.EVENTS.labels("failed").inc()
            log.warning("Event not written", reason=sentence.reason, error=str(error))
        else:
            series.written = count
            metrics.EVENTS.labels("written").inc()

    async def _create(self, sentence: Sentence, series: _Series) -> None:
        regarding = sentence.regarding
        name = f"{regarding.key.name}.{uuid.uuid4().hex[:16]}"
        manifest: dict[str, Any] = {
            "apiVersion": EVENTS.api_version,
            "kind": EVENTS.kind,
            "metadata": {"name": name, "namespace": regarding.key.namespace or "default"},
            "eventTime": _micro(series.seen),
            "type": sentence.type,
            "reason": sentence.reason,
            "action": sentence.action,
            "note": sentence.note,
            "regarding": regarding.reference(),
            "reportingController": self._controller,
            "reportingInstance": self._instance,
        }
        if series.count > 1:
            manifest["series"] = _series(series)
        await self._client.create(EVENTS, manifest)
        series.name = name

    async def _repeat(self, sentence: Sentence, series: _Series) -> None:
        key = Key(sentence.regarding.key.namespace or "default", series.name)
        await self._client.patch(EVENTS, key, {"series": _series(series)})


class _Budget:
    """New events per object: a burst, refilled slowly."""

    BURST: Final = 25
    REFILL: Final = 30.0  # seconds for one more

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        # When each object's bucket would be full again; past times are full buckets. Bounded.
        self._full: OrderedDict[str, float] = OrderedDict()

    def spend(self, who: str) -> bool:
        now = self._clock()
        full = max(now, self._full.get(who, now)) + self.REFILL
        if full - now > self.BURST * self.REFILL:
            return False
        self._full[who] = full
        self._full.move_to_end(who)
        while len(self._full) > SERIES_KEPT:
            self._full.popitem(last=False)
        return True


def _series(series: _Series) -> dict[str, Any]:
    return {"count": series.count, "lastObservedTime": _micro(series.seen)}


def _micro(when: datetime) -> str:
    return when.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
