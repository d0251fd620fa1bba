"""The program: asks Slurm, serves two pages, stops when told to."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any, Final, Protocol

from slurmery.doors.key import KeySecret
from slurmery.exporter.collector import Collector, Pace
from slurmery.exporter.exposition import Exposition
from slurmery.exporter.scope import Scope
from slurmery.exporter.sources import (
    AskJobs,
    DiagSource,
    JobSource,
    NodeSource,
    PartitionSource,
    Slurm,
    accounted,
)
from slurmery.exporter.vitals import Vitals
from slurmery.kube import config, logs
from slurmery.kube.client import Client
from slurmery.kube.health import Address, serve
from slurmery.slurm.client import SlurmClient
from slurmery.slurm.tokens import ScontrolTokens, SignedTokens, StaticToken, TokenSource

log = logs.logger("exporter")

# Slurm's name for whoever may see everything.
_USER: Final = "root"
_LIST_SECONDS: Final = 120.0
_SMALL_SECONDS: Final = 15.0


class Rhythm(Protocol):
    """What collectors can be told."""

    @property
    def collection_interval(self) -> timedelta: ...
    @property
    def max_collector_inflight(self) -> int: ...
    @property
    def job_source(self) -> str: ...
    @property
    def accounting_jobs_lookback(self) -> timedelta: ...


class Settings(Rhythm, Protocol):
    """What the exporter can be told."""

    @property
    def scope(self) -> Scope: ...
    @property
    def metrics_bind_address(self) -> Address | None: ...
    @property
    def monitoring_bind_address(self) -> Address | None: ...
    @property
    def cluster_name(self) -> str: ...
    @property
    def cluster_namespace(self) -> str: ...
    @property
    def standalone(self) -> bool: ...
    @property
    def kubeconfig_path(self) -> Path | None: ...
    @property
    def slurm_api_server(self) -> str: ...
    @property
    def static_token(self) -> str: ...
    @property
    def scontrol_path(self) -> str: ...
    @property
    def key_rotation_interval(self) -> timedelta: ...


def run(settings: Settings) -> None:
    """Live until SIGTERM. Raises KubeError or OSError for what a person must mend."""
    asyncio.run(live(settings))


async def live(settings: Settings) -> None:
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopped.set)
    async with AsyncExitStack() as stack:
        tokens = await stack.enter_async_context(_tokens(settings))
        slurm = SlurmClient(settings.slurm_api_server, tokens)
        vitals = Vitals()
        everyone = collectors(slurm, settings, settings.scope, vitals)
        exposition = Exposition(everyone, vitals)
        if settings.metrics_bind_address:
            await stack.enter_async_context(serve(settings.metrics_bind_address, exposition.slurm_routes()))
        if settings.monitoring_bind_address:
            await stack.enter_async_context(serve(settings.monitoring_bind_address, exposition.own_routes()))
        tasks = [asyncio.create_task(collector.run()) for collector in everyone]
        await stopped.wait()
        log.info("Stopping")
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def collectors(slurm: Slurm, settings: Rhythm, scope: Scope, vitals: Vitals) -> list[Collector[Any]]:
    """One for each thing that Slurm is asked for."""
    groups: dict[str, str] = {}
    partitions: list[str] = []
    ask: AskJobs = slurm.jobs
    if settings.job_source == "accounting":
        ask = accounted(slurm, settings.accounting_jobs_lookback.total_seconds())
    interval, at_once = settings.collection_interval.total_seconds(), settings.max_collector_inflight
    lists, small = Pace(interval, _LIST_SECONDS, at_once), Pace(interval, _SMALL_SECONDS, at_once)
    return [
        Collector("nodes", NodeSource(slurm, scope, groups), lists, vitals),
        Collector("jobs", JobSource(ask, scope, groups, partitions), lists, vitals),
        Collector("partitions", PartitionSource(slurm, partitions), small, vitals),
        Collector("diag", DiagSource(slurm), small, vitals),
    ]


@asynccontextmanager
async def _tokens(settings: Settings) -> AsyncIterator[TokenSource]:
    """Signed with the cluster's key, or, outside Kubernetes, the one that was given or scontrol's."""
    if not settings.standalone:
        async with Client(config.load(settings.kubeconfig_path)) as client:
            key = KeySecret(client, settings.cluster_namespace, settings.cluster_name)
            yield SignedTokens(key, user=_USER)
    elif settings.static_token:
        yield StaticToken(settings.static_token)
    else:
        life = settings.key_rotation_interval.total_seconds()
        yield ScontrolTokens(scontrol=settings.scontrol_path, life=life)
