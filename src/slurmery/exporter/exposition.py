"""The two pages: Slurm's metrics with /health, and the exporter's own figures with the probes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Sequence
from typing import Any, Final

from aiohttp import web

from slurmery.exporter.collector import Collector
from slurmery.exporter.page import Block, gzipped
from slurmery.exporter.text import Family, Labels, Text, sample
from slurmery.exporter.vitals import Vitals
from slurmery.kube.health import Handler, Probes

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"

AGE: Final = Family(
    "slurm_exporter_data_age_seconds", "gauge", "Age of what is shown of Slurm, by what it is asked for."
)
_COLLECTOR: Final = Labels("collector")


class Exposition:
    """Shows what the collectors hold."""

    def __init__(self, collectors: Sequence[Collector[Any]], vitals: Vitals) -> None:
        self._collectors = collectors
        self._vitals = vitals

    def slurm_routes(self) -> dict[str, Handler]:
        return {"/metrics": self._metrics, "/health": _healthy}

    def own_routes(self) -> dict[str, Handler]:
        return {"/metrics": self._figures, **Probes().routes()}

    def page(self) -> list[Block]:
        """All text there is now."""
        return [*(block for collector in self._collectors for block in collector.blocks), self._ages()]

    def _ages(self) -> Block:
        ages = [(_COLLECTOR(collector.name), collector.age()) for collector in self._collectors]
        text = Text(AGE)
        text.add(sample(AGE.name, labels, round(age, 3)) for labels, age in ages if age is not None)
        return text.block()

    async def _metrics(self, request: web.Request) -> web.Response:
        page = self.page()
        self._vitals.scraped(sum(block.series for block in page))
        headers = {"Content-Type": CONTENT_TYPE, "Vary": "Accept-Encoding"}
        pieces = [block.plain for block in page]
        if "gzip" in request.headers.get("Accept-Encoding", ""):
            headers["Content-Encoding"] = "gzip"
            pieces = await asyncio.to_thread(list, gzipped(page))
        return web.Response(body=_stream(pieces), headers=headers)

    async def _figures(self, _: web.Request) -> web.Response:
        return web.Response(body=self._vitals.render(), headers={"Content-Type": CONTENT_TYPE})


async def _stream(pieces: Iterable[bytes]) -> AsyncIterator[bytes]:
    """Piece by piece, as fast as the scraper reads: put together they would be in memory twice."""
    for piece in filter(None, pieces):
        yield piece


async def _healthy(_: web.Request) -> web.Response:
    return web.Response(text="healthy")
