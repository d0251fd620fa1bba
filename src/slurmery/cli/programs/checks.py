"""`slurmery checks`: watches over nodes and runs ActiveChecks.

A list of wings, each switched on with the names of `--controllers`; all of them share the ways to Slurm.
"""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial

from slurmery.cli import process
from slurmery.cli.settings.checks import ChecksSettings
from slurmery.health.active import program as active
from slurmery.health.active.reconcile import Part
from slurmery.health.repair import policy as names
from slurmery.health.repair.model import Half
from slurmery.health.repair.policy import Policy, Response
from slurmery.health.repair.policyfile import PolicyError, laid_over
from slurmery.health.repair.program import Repair
from slurmery.health.storage.decide import Thresholds
from slurmery.health.storage.kubelet import Ways
from slurmery.health.storage.program import Watch
from slurmery.health.world import world
from slurmery.kube.errors import ConfigError
from slurmery.kube.runtime import Runtime


def run(settings: ChecksSettings) -> None:
    """Lead, or wait to; watch until told to stop."""
    process.run(settings, partial(_wired, settings, policy(settings)), sync=settings.cache_sync_timeout)


@asynccontextmanager
async def _wired(settings: ChecksSettings, rules: Policy, runtime: Runtime) -> AsyncIterator[None]:
    on, around = settings.controllers.on, world(runtime, settings.namespaces)
    async with AsyncExitStack() as stack:
        stack.push_async_callback(around.slurms.close)
        if on("slurmapiclients"):
            around.slurms.wire()
        if halves := frozenset(half for half in Half if on(half)):
            Repair(rules, halves, settings.reconcile_timeout.total_seconds()).wire(runtime, around)
        if on("activecheck"):
            active.wire(runtime, _active(settings))
        if on("podephemeralstoragecheck"):
            await stack.enter_async_context(_storage(settings).open(runtime, around))
        yield


def _active(settings: ChecksSettings) -> active.Settings:
    return active.Settings(
        namespaces=settings.namespaces,
        user=settings.activecheck_user,
        limit=settings.activecheck_limit,
        every=settings.requeue_after_activecheck.total_seconds(),
        time_limit=settings.reconcile_timeout.total_seconds(),
        parts=frozenset(part for part in Part if settings.controllers.on(part)),
    )


def _storage(settings: ChecksSettings) -> Watch:
    return Watch(
        Thresholds(settings.ephemeral_storage_threshold, settings.ephemeral_storage_resume_threshold),
        Ways(
            port=settings.kubelet_port,
            seconds=settings.kubelet_request_timeout.total_seconds(),
            connections=settings.kubelet_max_idle_conns,
            unchecked=settings.kubelet_insecure_skip_tls_verify,
            authority=settings.kubelet_ca_file,
            server_name=settings.kubelet_tls_server_name,
        ),
        interval=settings.requeue_after_pod_ephemeral_storage_check.total_seconds(),
        workers=settings.pod_ephemeral_max_concurrent_reconciles,
        time_limit=settings.pod_ephemeral_reconcile_timeout.total_seconds(),
    )


def policy(settings: ChecksSettings) -> Policy:
    """What the flags and the file come to. Raises ConfigError if the file is no policy."""
    conditions = dict.fromkeys((*settings.maintenance_condition_type, names.HARDWARE), Response.REPLACE)
    rules = Policy(
        conditions=conditions,
        replaces=settings.enable_node_replacement,
        budget=settings.repair_budget,
        deletes_not_ready=settings.delete_not_ready_nodes,
        not_ready_seconds=settings.not_ready_timeout.total_seconds(),
        spared=dict(settings.maintenance_ignore_node_labels),
    )
    if settings.policy is None:
        return rules
    try:
        return laid_over(rules, settings.policy.read_text())
    except (OSError, UnicodeDecodeError, PolicyError) as error:
        raise ConfigError(f"--policy {settings.policy}: {error}") from None
