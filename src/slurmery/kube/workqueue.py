"""A queue of keys for level-triggered work.

What waits is never an event, only the name of something to look at again, so any number of adds before a
worker comes round are one piece of work. A key is with at most one worker at a time; if it is added meanwhile
it is handed out once more afterwards, so no change is lost.

    add ──► ready ──get──► running ──done──► gone
             ▲               │ added meanwhile: back to ready
    add_after, retry ──(timer)┘
"""

import asyncio
import heapq
import time
from collections import deque
from collections.abc import Hashable
from enum import IntEnum
from typing import Generic, TypeVar

from slurmery.kube import metrics
from slurmery.kube.backoff import jittered

K = TypeVar("K", bound=Hashable)


class Priority(IntEnum):
    """Who is served first; within one priority, first come first served."""

    CHANGE = 0
    RESYNC = 1


class Closed(Exception):
    """The queue hands out nothing more."""


class WorkQueue(Generic[K]):
    """The queue of one controller.

    Guarantees: a key is in flight once; every add is followed by a get that starts later; CHANGE overtakes
    RESYNC; a closed queue hands out nothing.
    Assumptions: all calls come from one event loop; every get is followed by one done.
    """

    def __init__(self, name: str, *, first_retry: float = 0.1, longest_retry: float = 300.0) -> None:
        # Canonical: the keys that are ready, with their place in the order and the time they became ready.
        self._ready: dict[K, tuple[Priority, int, float]] = {}
        # Holds at least one entry per ready key; an entry that differs from `_ready` is stale and skipped.
        self._order: list[tuple[Priority, int, K]] = []
        # In flight, with the time the worker took it. Disjoint from `_ready`.
        self._running: dict[K, float] = {}
        # Added while in flight: becomes ready on done. Subset of `_running`.
        self._again: dict[K, Priority] = {}
        # At most one timer per key, the earliest asked for. Taking a key drops its timer: the reconcile that
        # follows decides anew when to look again.
        self._timers: dict[K, asyncio.TimerHandle] = {}
        self._failures: dict[K, int] = {}
        # Workers asleep in get; a wake-up is a hint, the worker looks for itself.
        self._sleepers: deque[asyncio.Future[None]] = deque()
        self._closed = False
        self._sequence = 0
        self._first_retry = first_retry
        self._longest_retry = longest_retry
        self._metrics = metrics.queue_metrics(name, self.__len__, self._ages)

    def __len__(self) -> int:
        """Keys that are ready and wait for a worker."""
        return len(self._ready)

    def add(self, key: K, priority: Priority = Priority.CHANGE) -> None:
        """Make the key ready; if it is ready or in flight already, at most its priority improves."""
        if key in self._running:
            self._again[key] = min(priority, self._again.get(key, priority))
            return
        present = self._ready.get(key)
        if present and present[0] <= priority:
            return
        if not present:
            self._metrics.adds.inc()
        self._sequence += 1
        since = present[2] if present else time.monotonic()
        self._ready[key] = (priority, self._sequence, since)
        heapq.heappush(self._order, (priority, self._sequence, key))
        self._wake()

    def add_after(self, key: K, seconds: float, priority: Priority = Priority.RESYNC) -> None:
        """Make the key ready later, or sooner if an earlier timer is set."""
        timer = self._timers.get(key)
        loop = asyncio.get_running_loop()
        when = loop.time() + seconds
        if self._closed or (timer and timer.when() <= when):
            return
        if timer:
            timer.cancel()
        self._timers[key] = loop.call_at(when, self._fire, key, priority)

    def retry(self, key: K) -> float:
        """Make the key ready after its back-off, which doubles each time; returns the seconds until then."""
        failures = self._failures.get(key, 0)
        self._failures[key] = failures + 1
        longest = min(self._longest_retry, self._first_retry * 2.0 ** min(failures, 32))
        seconds = jittered(longest)
        self._metrics.retries.inc()
        self.add_after(key, seconds)
        return seconds

    def forget(self, key: K) -> None:
        """The key succeeded: its next failure starts at the shortest back-off."""
        self._failures.pop(key, None)

    async def get(self) -> K:
        """The next key, which is in flight until `done`. Raises Closed when the queue is closed."""
        while not self._closed:
            if self._ready:
                return self._take()
            await self._sleep()
        raise Closed

    def done(self, key: K) -> None:
        """The worker is through with the key."""
        self._metrics.worked.observe(time.monotonic() - self._running.pop(key))
        if key in self._again:
            self.add(key, self._again.pop(key))

    def close(self) -> None:
        """Hand out nothing more and wake every worker; keys in flight are still to be `done`."""
        self._closed = True
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()
        while self._sleepers:
            self._wake()

    def _take(self) -> K:
        while True:
            priority, sequence, key = heapq.heappop(self._order)
            entry = self._ready.get(key)
            if entry and entry[:2] == (priority, sequence):
                break
        del self._ready[key]
        if timer := self._timers.pop(key, None):
            timer.cancel()
        now = time.monotonic()
        self._metrics.waited.observe(now - entry[2])
        self._running[key] = now
        return key

    async def _sleep(self) -> None:
        sleeper = asyncio.get_running_loop().create_future()
        self._sleepers.append(sleeper)
        try:
            await sleeper
        except asyncio.CancelledError:
            if sleeper.done() and not sleeper.cancelled():
                self._wake()  # this worker was told and goes away: pass the hint on
            elif sleeper in self._sleepers:
                self._sleepers.remove(sleeper)
            raise

    def _wake(self) -> None:
        while self._sleepers:
            sleeper = self._sleepers.popleft()
            if not sleeper.done():
                sleeper.set_result(None)
                return

    def _fire(self, key: K, priority: Priority) -> None:
        del self._timers[key]
        self.add(key, priority)

    def _ages(self) -> list[float]:
        now = time.monotonic()
        return [now - since for since in self._running.values()]
