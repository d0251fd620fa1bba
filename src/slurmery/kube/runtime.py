"""The life of an operator process: caches fill, one replica leads, work is done, and all of it ends in time.

servers ─► informers listed ─► ready ─► lease won ─► controllers work ─┬─ SIGTERM ───► clean end
             (every replica)               (the leader alone)           ├─ lease lost ─► an error
                                                                        └─ a crash ────► its error

SIGTERM ── no new work ── in flight finished (3 s) ── events written ── lease released ── closed (5 s)
"""

import asyncio
import contextlib
import gc
import signal
import ssl
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from slurmery.kube.authorize import Authorizer
from slurmery.kube.client import Client
from slurmery.kube.controller import Controller
from slurmery.kube.discovery import Discovery
from slurmery.kube.errors import KubeError
from slurmery.kube.events import Recorder
from slurmery.kube.health import Address, Probes, metrics_routes, serve
from slurmery.kube.informer import Informer
from slurmery.kube.lease import Election
from slurmery.kube.logs import logger
from slurmery.kube.meta import Resource, Selection, View
from slurmery.kube.store import Index

log = logger("runtime")

V = TypeVar("V", bound=View)

FINISH_SECONDS: Final = 3.0
EVENTS_SECONDS: Final = 0.5


# What must be over before a controller may work.
Before = Callable[[], Coroutine[Any, Any, None]]


async def _nothing() -> None:
    pass


class LeadershipLostError(KubeError):
    """The lease is gone; the process ends, and its successor starts from the world as it is."""


class CachesEmptyError(KubeError):
    """The API server did not fill the caches in time."""


@dataclass(frozen=True)
class Listen:
    """Where the process answers; what is None is not offered."""

    probes: Address | None = None
    metrics: Address | None = None
    metrics_tls: ssl.SSLContext | None = None
    metrics_guard: Authorizer | None = None


class Wing:
    """Informers and controllers that have work only once a resource is served: until then they rest."""

    def __init__(self, runtime: "Runtime", once: Resource) -> None:
        self.client = runtime.client
        self.discovery = runtime.discovery
        self.recorder = runtime.recorder
        self._runtime = runtime
        self._once = once
        self._informers: list[Informer[Any]] = []

    def informer(
        self, selection: Selection, view: type[V], indexes: Mapping[str, Index[V]] | None = None
    ) -> Informer[V]:
        """A cache that is filled once the wing is open."""
        informer = self._runtime.informer(selection, view, indexes, once=self._once)
        self._informers.append(informer)
        return informer

    def add(self, controller: Controller) -> None:
        """Run this controller while leading, once the wing is open and its caches are filled."""
        self._runtime.add(controller, self._filled)

    async def _filled(self) -> None:
        await self.discovery.wait(self._once)
        for informer in self._informers:
            if await self.discovery.offers(informer.selection.resource):
                await informer.synced.wait()


class Runtime:
    """Holds the parts of one process and runs them. First make the parts, then `run`, once."""

    def __init__(self, client: Client, identity: str, listen: Listen, *, sync_seconds: float = 120.0) -> None:
        self.client = client
        self.discovery = Discovery(client)
        self.probes = Probes({"watches": self._dead_watches}, {"caches": self._empty_caches})
        self._identity = identity
        self._listen = listen
        self._sync_seconds = sync_seconds
        self._informers: dict[Informer[Any], Resource] = {}
        self._controllers: dict[Controller, Before] = {}
        self._recorders: list[Recorder] = []
        self._ready = False
        self._stop = asyncio.Event()
        self._lost = asyncio.Event()
        self._ended = asyncio.Event()

    def informer(
        self,
        selection: Selection,
        view: type[V],
        indexes: Mapping[str, Index[V]] | None = None,
        *,
        once: Resource | None = None,
    ) -> Informer[V]:
        """A cache. If its resource, or `once`, is not offered yet, it waits for that, and nobody for it."""
        informer = Informer(self.client, selection, view, indexes=indexes)
        self._informers[informer] = once or selection.resource
        return informer

    def recorder(self, controller: str) -> Recorder:
        """Events that are said to come from this controller."""
        recorder = Recorder(self.client, controller, self._identity)
        self._recorders.append(recorder)
        return recorder

    def add(self, controller: Controller, before: Before | None = None) -> None:
        """Run this controller while leading, when what must be before is."""
        self._controllers[controller] = before or _nothing
        self.discovery.appeared.append(lambda _: controller.resync())

    def stop(self) -> None:
        """End `run` in good order."""
        self._stop.set()

    async def run(self, election: Election | None = None) -> None:
        """Live until SIGTERM, SIGINT or `stop`.

        Raises LeadershipLostError, or what crashed as a group.
        """
        try:
            async with self._signals(), self._servers(), asyncio.TaskGroup() as tasks:
                services = [tasks.create_task(self._fill(informer)) for informer in self._informers]
                services += [tasks.create_task(recorder.run()) for recorder in self._recorders]
                services.append(tasks.create_task(self.discovery.run()))
                await self._work(tasks, election)
                for service in services:
                    service.cancel()
        finally:
            if election:
                await election.stop()
        if not self._stop.is_set():
            raise LeadershipLostError("the lease was lost")

    async def _work(self, tasks: asyncio.TaskGroup, election: Election | None) -> None:
        if not await self._before_stop(self._synced()):
            return
        # What the caches hold now stays: the collector need not look at it again and again.
        gc.collect()
        gc.freeze()
        self._ready = True
        log.info("Ready", informers=len(self._informers))
        if election and not (await self._before_stop(self._elected(election)) and election.leading):
            return
        workers = [tasks.create_task(self._run(*each)) for each in self._controllers.items()]
        lost = await self._before_stop(self._lost.wait())
        self._ready = False
        for controller in self._controllers:
            controller.stop()
        self._ended.set()
        if workers and not lost:
            await asyncio.wait(workers, timeout=FINISH_SECONDS)
        for worker in workers:
            worker.cancel()
        if not lost:
            await self._say_the_rest()

    async def _run(self, controller: Controller, before: Before) -> None:
        waiting = asyncio.create_task(before())
        ending = asyncio.create_task(self._ended.wait())
        try:
            await asyncio.wait((waiting, ending), return_when=asyncio.FIRST_COMPLETED)
            if waiting.done():
                await waiting
                await controller.run()
        finally:
            waiting.cancel()
            ending.cancel()

    async def _say_the_rest(self) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(EVENTS_SECONDS):
                await asyncio.gather(*(recorder.flush() for recorder in self._recorders))

    async def _before_stop(self, work: Coroutine[Any, Any, object]) -> bool:
        """Whether the work was done before the process was asked to stop; if not, it is cancelled."""
        working = asyncio.create_task(work)
        stopping = asyncio.create_task(self._stop.wait())
        try:
            await asyncio.wait((working, stopping), return_when=asyncio.FIRST_COMPLETED)
            if self._stop.is_set():
                return False
            await working
            return True
        finally:
            working.cancel()
            stopping.cancel()

    async def _synced(self) -> None:
        try:
            async with asyncio.timeout(self._sync_seconds):
                for informer, once in self._informers.items():
                    served = informer.selection.resource
                    if await self.discovery.offers(once) and await self.discovery.offers(served):
                        await informer.synced.wait()
        except TimeoutError:
            empty = [str(one.selection.resource) for one in self._informers if not one.synced.is_set()]
            words = f"no list within {self._sync_seconds:g} s of {', '.join(empty)}"
            raise CachesEmptyError(words) from None

    async def _elected(self, election: Election) -> None:
        """Return when the election is decided: won, or over before it was."""
        loop = asyncio.get_running_loop()
        decided = asyncio.Event()

        def changed(leading: bool) -> None:
            with contextlib.suppress(RuntimeError):  # the loop is closed: nobody is left to be told
                loop.call_soon_threadsafe(decided.set)
                if not leading:
                    loop.call_soon_threadsafe(self._lost.set)

        election.start(changed)
        await decided.wait()

    async def _fill(self, informer: Informer[Any]) -> None:
        with contextlib.suppress(KubeError):  # no answer: the informer knows how to live with that
            await self.discovery.wait(self._informers[informer])
            await self.discovery.wait(informer.selection.resource)
        await informer.run()

    @asynccontextmanager
    async def _servers(self) -> AsyncIterator[None]:
        listen = self._listen
        async with AsyncExitStack() as stack:
            if listen.probes:
                await stack.enter_async_context(serve(listen.probes, self.probes.routes()))
            if listen.metrics:
                routes = metrics_routes(listen.metrics_guard)
                await stack.enter_async_context(serve(listen.metrics, routes, tls=listen.metrics_tls))
            yield

    @asynccontextmanager
    async def _signals(self) -> AsyncIterator[None]:
        loop = asyncio.get_running_loop()
        numbers = (signal.SIGTERM, signal.SIGINT)
        for number in numbers:
            loop.add_signal_handler(number, self.stop)
        try:
            yield
        finally:
            for number in numbers:
                loop.remove_signal_handler(number)

    def _dead_watches(self) -> str | None:
        now = asyncio.get_running_loop().time()
        dead = [str(one.selection.resource) for one in self._informers if not one.alive(now)]
        return f"no sign of life from {', '.join(dead)}" if dead else None

    def _empty_caches(self) -> str | None:
        return None if self._ready else "not filled yet"
