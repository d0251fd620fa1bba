"""A running Prometheus, and what it answers."""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import aiohttp

from tests.unit.exporter.process import free_port

Vector = list[tuple[Mapping[str, str], float]]


class Prometheus:
    """Asks it over HTTP."""

    def __init__(self, port: int) -> None:
        self._url = f"http://127.0.0.1:{port}/api/v1"

    async def get(self, path: str, **query: str) -> Any:
        async with (
            aiohttp.ClientSession() as session,
            session.get(f"{self._url}/{path}", params=query) as answer,
        ):
            answer.raise_for_status()
            return (await answer.json())["data"]

    async def query(self, expression: str) -> Vector:
        result = (await self.get("query", query=expression))["result"]
        return [(series["metric"], float(series["value"][1])) for series in result]

    async def until(self, expression: str, seconds: float = 40) -> Vector:
        """The first answer that is not empty."""
        async with asyncio.timeout(seconds):
            while True:
                with suppress(aiohttp.ClientError):
                    if found := await self.query(expression):
                        return found
                await asyncio.sleep(0.3)


@asynccontextmanager
async def prometheus(programs: Path, folder: Path, rules: Path, **targets: int) -> AsyncIterator[Prometheus]:
    """One that scrapes these ports of loopback every second."""
    config = {
        "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
        "rule_files": [str(rules)],
        "scrape_configs": [
            {"job_name": name, "static_configs": [{"targets": [f"127.0.0.1:{port}"]}]}
            for name, port in targets.items()
        ],
    }
    (folder / "prometheus.yml").write_text(json.dumps(config))  # JSON is YAML
    port = free_port()
    process = await asyncio.create_subprocess_exec(
        *("prlimit", "--data=2000000000", programs / "prometheus", f"--config.file={folder}/prometheus.yml"),
        *(f"--storage.tsdb.path={folder}/data", f"--web.listen-address=127.0.0.1:{port}", "--log.level=warn"),
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        yield Prometheus(port)
    finally:
        process.terminate()
        await process.wait()
