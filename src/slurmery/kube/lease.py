"""Leader election by a coordination.k8s.io Lease: at most one process writes.

The election lives in a thread of its own, with its own event loop and client, so that a busy main loop can
neither lose the lease nor keep it by accident. All times are monotonic; the wall clock in the Lease is for
people.

    renewal sent          answer       deadline: we stop                others may take the lease
         │                  │                  │                                   │
    ─────┼──────────────────┼──────────────────┼───────────────────────────────────┼────►
         └──────────── renew (10 s) ───────────┘                                   │
         └───────────────────────── duration (15 s) at the least ──────────────────┘

The deadline counts from the moment a renewal was *sent*, so it lies before anybody else's patience can end.
It passes by itself: a process that was paused finds on waking that it does not lead, whichever of its threads
runs first. Leadership comes once; after it is lost the process should end.
"""

import asyncio
import contextlib
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from slurmery.kube import metrics
from slurmery.kube.client import Client
from slurmery.kube.errors import ConflictError, KubeError, NotFoundError
from slurmery.kube.logs import logger
from slurmery.kube.meta import Key
from slurmery.kube.resources import LEASES

log = logger("lease")

# Part of the five seconds that a process has to stop in.
RELEASE_SECONDS: Final = 0.75


class NotLeadingError(KubeError):
    """This process may not write: it does not lead, or not any longer."""


@dataclass(frozen=True)
class Timing:
    """Seconds: how long a lease is good without renewal, when its holder stops, and how often it renews."""

    duration: float = 15.0
    renew: float = 10.0
    retry: float = 2.0


class Election:
    """One candidate for one Lease.

    Guarantees: of all processes that check `leading` (or `fence`) right before each write, one writes; the
    lease is released by `stop`; an error in the thread ends leadership.
    Assumptions: writers check the fence. Whoever starts the election is told True when leadership is won, and
    False when the election is over.
    """

    def __init__(
        self,
        connect: Callable[[], Client],
        key: Key,
        identity: str,
        timing: Timing | None = None,
    ) -> None:
        self._connect = connect
        self._key = key
        self._identity = identity
        self._timing = timing or Timing()
        # We lead until then. Written by the election's thread alone.
        self._deadline = 0.0
        # The Lease as we last saw it, and since when it has looked like that.
        self._lease: dict[str, Any] | None = None
        self._seen = 0.0
        self._loop: asyncio.AbstractEventLoop | None = None
        self._changed: Callable[[bool], None] = lambda _: None
        self._stopping = asyncio.Event()
        self._over = threading.Event()
        metrics.LEADING.labels(key.name).set_function(lambda: float(self.leading))

    @property
    def leading(self) -> bool:
        """Whether this process may write at this moment; costs next to nothing."""
        return time.monotonic() < self._deadline

    def fence(self) -> None:
        """Raise NotLeadingError unless this process may write at this moment."""
        if not self.leading:
            raise NotLeadingError(f"lease {self._key} is not held by {self._identity}")

    def start(self, changed: Callable[[bool], None]) -> None:
        """Stand for election, once. `changed` is called in the election's thread and does not block."""
        self._loop = asyncio.new_event_loop()
        self._changed = changed
        # A daemon: should the main thread die, nothing must keep renewing.
        threading.Thread(target=self._main, args=(self._loop,), name="lease", daemon=True).start()

    async def stop(self) -> None:
        """Give the lease up, if it is held, for the next candidate to take at once. All writing is over."""
        if self._loop is None:
            return
        with contextlib.suppress(RuntimeError):  # the election is over and its loop closed
            self._loop.call_soon_threadsafe(self._stopping.set)
        await asyncio.to_thread(self._over.wait, RELEASE_SECONDS)

    def _main(self, loop: asyncio.AbstractEventLoop) -> None:
        try:
            with asyncio.Runner(loop_factory=lambda: loop) as runner:
                runner.run(self._stand())
        except Exception:
            log.exception("Election failed", lease=str(self._key))
        finally:
            self._deadline = 0.0
            log.info("Election over", lease=str(self._key))
            self._changed(False)
            self._over.set()

    async def _stand(self) -> None:
        async with self._connect() as client:
            while not self._stopping.is_set() and await self._turn(client):
                await self._pause()
            if self._deadline:
                await self._release(client)

    async def _turn(self, client: Client) -> bool:
        """One attempt to get or renew the lease. False when leadership was had and is over."""
        started = time.monotonic()
        if self._deadline and started >= self._deadline:
            return False
        limit = self._deadline - started if self._deadline else self._timing.renew
        try:
            async with asyncio.timeout(limit):
                held = await self._claim(client, started)
        except (KubeError, TimeoutError) as error:
            log.warning("Lease not reached", lease=str(self._key), error=str(error) or "timeout")
            self._lease = None if isinstance(error, ConflictError) else self._lease
            return True
        if held:
            self._lead(started)
        return held or not self._deadline

    def _lead(self, since: float) -> None:
        first = not self._deadline
        self._deadline = since + self._timing.renew
        if first:
            log.info("Leadership won", lease=str(self._key), identity=self._identity)
            self._changed(True)

    async def _claim(self, client: Client, now: float) -> bool:
        """Whether the lease is ours after this."""
        if self._lease is None or not self._deadline:
            await self._look(client, now)
        if self._lease is None:
            metadata = {"name": self._key.name, "namespace": self._key.namespace}
            fresh = {"apiVersion": LEASES.api_version, "kind": LEASES.kind, "metadata": metadata}
            self._lease = await client.create(LEASES, {**fresh, "spec": self._spec({})})
            return True
        spec = self._lease.get("spec", {})
        holder = spec.get("holderIdentity")
        patience = spec.get("leaseDurationSeconds") or self._timing.duration
        if holder and holder != self._identity and now < self._seen + patience:
            return False
        self._lease = await client.replace(LEASES, {**self._lease, "spec": self._spec(spec)})
        return True

    async def _look(self, client: Client, now: float) -> None:
        try:
            lease = await client.get(LEASES, self._key)
        except NotFoundError:
            self._lease = None
            return
        if self._lease is None or lease["metadata"]["resourceVersion"] != _version(self._lease):
            self._lease, self._seen = lease, now

    def _spec(self, before: dict[str, Any]) -> dict[str, Any]:
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        ours = before.get("holderIdentity") == self._identity
        return {
            **before,
            "holderIdentity": self._identity,
            "leaseDurationSeconds": round(self._timing.duration),
            "acquireTime": before.get("acquireTime", now) if ours else now,
            "renewTime": now,
            "leaseTransitions": before.get("leaseTransitions", 0) + (not ours and bool(before)),
        }

    async def _pause(self) -> None:
        seconds = self._timing.retry
        if self._deadline:
            seconds = min(seconds, max(0.0, self._deadline - time.monotonic()))
        try:
            await asyncio.wait_for(self._stopping.wait(), seconds)
        except TimeoutError:
            return

    async def _release(self, client: Client) -> None:
        held, self._deadline = self.leading, 0.0
        spec = self._lease["spec"] if self._lease else {}
        if not held or spec.get("holderIdentity") != self._identity:
            return
        spec |= {"holderIdentity": "", "leaseDurationSeconds": 1}
        try:
            async with asyncio.timeout(RELEASE_SECONDS):
                await client.replace(LEASES, {**(self._lease or {}), "spec": spec})
        except (KubeError, TimeoutError) as error:
            log.warning("Lease not released", lease=str(self._key), error=str(error) or "timeout")


def _version(lease: dict[str, Any]) -> str:
    version: str = lease["metadata"]["resourceVersion"]
    return version
