"""`slurmery operator`: reconciles the clusters of both APIs."""

from collections.abc import AsyncIterator, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial

from slurmery.api.slinky import Accounting, Controller, LoginSet, NodeSet, RestApi, Token
from slurmery.cli import process
from slurmery.cli.settings.operator import OperatorSettings
from slurmery.cli.webhooks import webhooks
from slurmery.health.configurator.program import Configurator
from slurmery.kube import profiling
from slurmery.kube.health import serve
from slurmery.kube.meta import Resource
from slurmery.kube.resources import POD_MONITORS, SERVICE_MONITORS
from slurmery.kube.runtime import Runtime
from slurmery.nebius.door import Door as NebiusDoor
from slurmery.nebius.kinds import APP_ARMOR_PROFILES, DATABASES, GRANTS, MARIADBS
from slurmery.nebius.topology.reconcile import Topology
from slurmery.slinky import domain
from slurmery.slinky.door import Door as SlinkyDoor


def run(settings: OperatorSettings) -> None:
    """Lead, or wait to, until told to stop."""
    process.run(settings, partial(_wired, settings), sync=settings.cache_sync_timeout)


@asynccontextmanager
async def _wired(settings: OperatorSettings, runtime: Runtime) -> AsyncIterator[None]:
    async with AsyncExitStack() as stack:
        if settings.profile and settings.profile_addr:
            await stack.enter_async_context(serve(settings.profile_addr, profiling.routes()))
        if settings.enable_webhooks:
            await stack.enter_async_context(webhooks(settings, runtime))
        runtime.discovery.ignore(_unserved(settings))
        await stack.enter_async_context(_slinky(settings).open(runtime))
        await stack.enter_async_context(_nebius(settings).open(runtime))
        _configurator(settings).wire(runtime)
        yield


def _unserved(settings: OperatorSettings) -> Iterable[Resource]:
    """What an administrator says is not there; it is not looked for, whatever is."""
    said = {
        (POD_MONITORS, SERVICE_MONITORS): settings.prometheus_crds,
        (MARIADBS, GRANTS, DATABASES): settings.mariadb_crds,
        (APP_ARMOR_PROFILES,): settings.apparmor_crds,
    }
    return [each for resources, served in said.items() if served is False for each in resources]


def _slinky(settings: OperatorSettings) -> SlinkyDoor:
    """The front door slinky.slurm.net; its caches wait for as long as its CRDs are not served."""
    return SlinkyDoor(
        namespaces=settings.namespaces,
        domain=domain.found() or settings.cluster_domain,
        workers={
            Accounting: settings.accounting_workers,
            Controller: settings.controller_workers,
            LoginSet: settings.loginset_workers,
            NodeSet: settings.nodeset_workers,
            RestApi: settings.restapi_workers,
            Token: settings.token_workers,
        },
        time_limit=settings.reconcile_timeout.total_seconds(),
        propagated=settings.propagated_node_conditions,
    )


def _nebius(settings: OperatorSettings) -> NebiusDoor:
    """The front door slurm.nebius.ai; its caches wait for as long as its CRDs are not served."""
    return NebiusDoor(
        namespaces=settings.namespaces,
        domain=settings.cluster_domain,
        workers=settings.max_concurrent_reconciles,
        time_limit=settings.reconcile_timeout.total_seconds(),
        topology=Topology(settings.topology_label_prefix, settings.home)
        if settings.reconciles("topology")
        else None,
        sets=settings.statefulset_api,
    )


def _configurator(settings: OperatorSettings) -> Configurator:
    """NodeConfigurators of slurm.nebius.ai."""
    return Configurator(
        namespaces=settings.namespaces,
        workers=settings.max_concurrent_reconciles,
        time_limit=settings.reconcile_timeout.total_seconds(),
    )
