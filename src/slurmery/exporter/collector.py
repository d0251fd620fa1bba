"""Asking one source again and again, and keeping what it gave last.

Each collector has its own pace and deadline, and runs whatever becomes of the others. If a reading is still
under way when the next is due, the next is left out; or, if more than one may be under way at once, begun
beside it, and an answer that was overtaken by a later one is thrown away. After a failure the last good text
stays; its age tells.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from slurmery.exporter.page import Block
from slurmery.exporter.sources import Source
from slurmery.exporter.vitals import Vitals
from slurmery.kube import logs
from slurmery.slurm.errors import SlurmError

log = logs.logger("exporter")

T = TypeVar("T")


@dataclass(frozen=True)
class Pace:
    """How often to ask, how long to wait for the answer, and how many may be waited for at once."""

    interval: float
    deadline: float
    at_once: int = 1


class Collector(Generic[T]):
    """One source's text, kept up to date for as long as `run` runs."""

    def __init__(self, name: str, source: Source[T], pace: Pace, vitals: Vitals) -> None:
        self.name = name
        self.blocks: Sequence[Block] = ()
        self._source = source
        self._pace = pace
        self._vitals = vitals
        self._taken_at: float | None = None
        self._begun = 0
        self._applied = 0
        self._underway = 0
        self._rendering = asyncio.Lock()
        self._complaint = ""

    def age(self) -> float | None:
        """Seconds since the request that the text comes from; None if there is no text yet."""
        return None if self._taken_at is None else asyncio.get_running_loop().time() - self._taken_at

    async def run(self) -> None:
        clock = asyncio.get_running_loop().time
        due = clock()
        async with asyncio.TaskGroup() as group:
            while True:
                if self._underway < self._pace.at_once:
                    group.create_task(self.collect())
                else:
                    self._vitals.skipped(self.name)
                due = max(due + self._pace.interval, clock())
                await asyncio.sleep(due - clock())

    async def collect(self) -> None:
        """One reading."""
        started = asyncio.get_running_loop().time()
        self._begun += 1
        self._underway += 1
        self._vitals.begun(self.name)
        failed = True
        try:
            await self._read(self._begun, started)
            failed = False
        except SlurmError as error:
            self._complain(str(error))
        except TimeoutError:
            self._complain(f"no answer within {self._pace.deadline:g} s")
        except Exception:
            log.exception("Collection failed unexpectedly", collector=self.name)
        finally:
            self._underway -= 1
            took = asyncio.get_running_loop().time() - started
            self._vitals.ended(self.name, took, failed=failed)

    async def _read(self, number: int, started: float) -> None:
        async with asyncio.timeout(self._pace.deadline):
            answer = await self._source.fetch()
        async with self._rendering:
            if number < self._applied:
                return
            blocks = await self._source.render(answer)
            await asyncio.to_thread(_deflate, blocks)
            self.blocks, self._applied, self._taken_at = blocks, number, started
        if self._complaint:
            log.info("Slurm answers again", collector=self.name)
            self._complaint = ""

    def _complain(self, error: str) -> None:
        if error != self._complaint:
            log.warning("Slurm gives no answer", collector=self.name, error=error)
            self._complaint = error


def _deflate(blocks: Sequence[Block]) -> None:
    """Compress now what the next scrape will ask for."""
    for block in blocks:
        _ = block.deflated
