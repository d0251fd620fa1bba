"""A local copy of a selection of objects, kept true by list and watch.

    list ── or the objects as the watch's first events, where the server offers that
      │      differences to what was known reach the handlers, deletions too
      ▼
    watch from that resourceVersion ──── ends (server timeout, error, silence) ──┐
      ▲                                                                          │
      └──────────── pause, then resume where it ended ◄──────────────────────────┤
                                                                                 │
    list again ◄──────────────────────────── 410: that version is gone ──────────┘

Guarantees
    The store is changed before the handlers hear of it. It may be out of date, never corrupt, and each
    object's changes come in order; some may come as one. A stream that dies in silence is noticed within
    `Pace.watch + Pace.grace` seconds. Only the server's word removes an object: an object that cannot be
    decoded, an error or an outage never does.
Assumptions
    Handlers are quick and do not block; they put keys into a queue.
Errors
    `run` ends by cancellation only. What the server refuses is logged once and tried again.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from typing import Generic

import msgspec
import structlog

from slurmery.kube import watch
from slurmery.kube.backoff import Backoff, jittered
from slurmery.kube.client import Client
from slurmery.kube.errors import AnswerError, ApiError, GoneError, KubeError
from slurmery.kube.meta import Key, Selection, View
from slurmery.kube.store import Index, Store, V
from slurmery.kube.watch import WatchEvent

INITIAL_EVENTS_END = "k8s.io/initial-events-end"

# Hears of each change: (None, new) added, (old, new) changed, (old, None) deleted.
Handler = Callable[[V | None, V | None], None]

_log = structlog.get_logger()
_decode_view = msgspec.json.Decoder(View).decode


@dataclass(frozen=True)
class Pace:
    """Times in seconds."""

    watch: float = 240.0  # the server ends a watch after half of this to all of it
    grace: float = 15.0  # silence for so long after it should have ended: the peer is dead
    initial: float = 60.0  # the initial objects come within this, or the server does not know how
    pause: float = 0.5  # between two streams, doubled while they bring nothing
    longest_pause: float = 30.0


class Informer(Generic[V]):
    """Keeps `store` equal to the selection, and tells the handlers what changes."""

    def __init__(
        self,
        client: Client,
        selection: Selection,
        view: type[V],
        *,
        indexes: Mapping[str, Index[V]] | None = None,
        pace: Pace | None = None,
    ) -> None:
        self.selection = selection
        self.store: Store[V] = Store(indexes)
        self.synced = asyncio.Event()
        self.undecodable = 0
        self._client = client
        self._decode = msgspec.json.Decoder(view).decode
        self._view = view
        self._pace = pace or Pace()
        self._backoff = Backoff(self._pace.pause, self._pace.longest_pause)
        self._handlers: list[Handler[V]] = []
        self._version: str | None = None
        self._streaming = True
        self._life: float | None = None
        self._complaint = ""
        self._log = _log.bind(resource=str(selection.resource))

    def subscribe(self, handler: Handler[V]) -> None:
        """Tell this handler of every change, and first of all that is there already."""
        self._handlers.append(handler)
        for view in self.store.all():
            handler(None, view)

    def alive(self, now: float) -> bool:
        """Whether the server has been heard of lately; `now` is the event loop's time."""
        pace = self._pace
        return self._life is None or now - self._life < pace.watch + pace.grace + 2 * pace.longest_pause

    async def run(self) -> None:
        """List and watch until cancelled."""
        self._heard()
        while True:
            asked = 0.0
            try:
                await self._cycle()
                self._heard()
            except KubeError as error:
                asked = self._learn(error)
            # Also after a clean end: a server that ends every watch at once must not make us spin.
            await asyncio.sleep(max(asked, self._backoff.next()))

    async def _cycle(self) -> None:
        """A list where there is nothing to resume from, and one watch."""
        if self._version is not None:
            await self._watch()
        elif self._streaming:
            await self._stream()
        else:
            await self._list()
            await self._watch()

    async def _list(self) -> None:
        fresh: dict[Key, V] = {}
        listing = await self._client.fetch(
            self.selection, self._view, undecodable=lambda raw, error: self._skip(raw, error, fresh)
        )
        self._heard()
        fresh.update((view.key, view) for view in listing.items)
        self._replace(fresh, listing.resource_version)

    async def _stream(self) -> None:
        """The initial objects and what follows, all in one watch."""
        fresh: dict[Key, V] = {}
        try:
            async with (
                # Before the server may end the watch, or a slow one would be asked for the same for ever.
                asyncio.timeout(min(self._pace.initial, self._pace.watch / 2)) as limit,
                self._open(initial_events=True) as events,
            ):
                async for event in events:
                    self._heard()
                    if self._version is not None:
                        self._follow(event)
                    elif self._gather(event, fresh):
                        limit.reschedule(None)
        except TimeoutError:
            self._streaming = False
        except ApiError as error:
            if error.status not in (400, 422):
                raise
            self._streaming = False

    async def _watch(self) -> None:
        async with self._open(initial_events=False) as events:
            async for event in events:
                self._heard()
                self._follow(event)

    @contextlib.asynccontextmanager
    async def _open(self, *, initial_events: bool) -> AsyncIterator[AsyncIterator[WatchEvent]]:
        pace, loop = self._pace, asyncio.get_running_loop()
        begin, seconds = loop.time(), jittered(pace.watch)
        stream = self._client.watch(
            self.selection,
            resource_version=self._version,
            seconds=seconds,
            silence=seconds + pace.grace,
            initial_events=initial_events,
        )
        try:
            async with contextlib.aclosing(stream):
                yield stream
        finally:
            # Balancers that cut idle streams must not make us pause longer and longer.
            if loop.time() - begin > pace.longest_pause:
                self._backoff.reset()

    def _gather(self, event: WatchEvent, fresh: dict[Key, V]) -> bool:
        """Take in one of the initial objects; True when it was the last."""
        if event.type == watch.BOOKMARK:
            mark = self._bare(event)
            if mark.annotations.get(INITIAL_EVENTS_END) != "true":
                return False
            self._replace(fresh, mark.metadata.resource_version)
            fresh.clear()  # it would keep these views for as long as the stream lives
            return True
        try:
            view = self._decode(event.object)
        except msgspec.ValidationError as error:
            self._skip(event.object, error, fresh)
        else:
            fresh[view.key] = view
        return False

    def _follow(self, event: WatchEvent) -> None:
        """Take in a change."""
        self._backoff.reset()
        self._complaint = ""
        if event.type in (watch.ADDED, watch.MODIFIED):
            try:
                view = self._decode(event.object)
            except msgspec.ValidationError as error:
                self._skip(event.object, error, {})
            else:
                self._put(view)
                self._version = view.metadata.resource_version
            return
        bare = self._bare(event)
        if event.type == watch.DELETED:
            self._remove(bare.key)
        self._version = bare.metadata.resource_version

    def _bare(self, event: WatchEvent) -> View:
        """The metadata alone. Without them the thread is lost, and only a list can take it up again."""
        try:
            return _decode_view(event.object)
        except msgspec.ValidationError as error:
            self._version = None
            raise AnswerError(f"{event.type} event without good metadata: {error}") from error

    def _replace(self, fresh: dict[Key, V], version: str) -> None:
        """All objects as of a version: put what is new or changed, remove the rest."""
        for key in self.store.keys() - fresh.keys():
            self._remove(key)
        for view in fresh.values():
            self._put(view)
        self._version = version
        self._complaint = ""
        self.synced.set()

    def _put(self, view: V) -> None:
        old = self.store.get(view.key)
        if old is not None and old.metadata.resource_version == view.metadata.resource_version:
            return
        self.store.put(view)
        self._tell(view.key, old, view)

    def _remove(self, key: Key) -> None:
        old = self.store.remove(key)
        if old is not None:
            self._tell(key, old, None)

    def _tell(self, key: Key, old: V | None, new: V | None) -> None:
        for handler in self._handlers:
            try:
                handler(old, new)
            except Exception:  # noqa: BLE001 - one handler's bug must not blind the others
                self._log.exception("handler failed", key=str(key))

    def _skip(self, raw: msgspec.Raw, error: msgspec.ValidationError, fresh: dict[Key, V]) -> None:
        """Log and count an object that does not fit the view.

        It exists all the same: what we knew of it goes into `fresh`, lest it be taken for deleted.
        """
        self.undecodable += 1
        try:
            key = _decode_view(raw).key
        except msgspec.ValidationError:
            key = None
        self._log.error("undecodable object skipped", key=key and str(key), error=str(error))
        if key is not None and (old := self.store.get(key)) is not None:
            fresh[key] = old

    def _heard(self) -> None:
        self._life = asyncio.get_running_loop().time()

    def _learn(self, error: KubeError) -> float:
        """Draw the conclusions from an error; returns how long the server asked us to wait."""
        if str(error) != self._complaint:
            self._complaint = str(error)
            self._log.warning("watch failed, trying again", error=str(error))
        if not isinstance(error, ApiError):
            return 0.0
        self._heard()
        if isinstance(error, GoneError) or any(c.reason == "ResourceVersionTooLarge" for c in error.causes):
            self._version = None
        return error.retry_after or 0.0
