"""The figures of the Kubernetes runtime, against a real API server that holds realistic pods."""

import asyncio
import json
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

from bench import applying, caching, idle, pods
from bench.figure import Figure
from bench.fresh import fresh
from dev.controlplane import ControlPlane
from slurmery.kube import config
from slurmery.kube.apply import Act
from slurmery.kube.client import Client
from slurmery.kube.meta import Manifest, Resource
from slurmery.kube.resources import NAMESPACES, SERVICE_ACCOUNTS

# On a shared machine CPU time is a figure plus the neighbours' noise: the best of some runs is the figure.
RUNS = range(5)
PODS = 5000
BURST = PODS // len(RUNS)


def figures() -> Iterator[Figure]:
    """Measure everything; a figure comes when it is known."""
    with tempfile.TemporaryDirectory() as folder, ControlPlane(Path(folder)) as plane:
        kubeconfig = str(plane.kubeconfig)
        asyncio.run(_prepare(plane.kubeconfig))
        subprocess.run(pods.writer(kubeconfig, 0, PODS), check=True)
        yield from _listing(kubeconfig)
        yield _events(kubeconfig)
        yield from _applying(plane)
        weight = fresh(idle.idle, kubeconfig)
        assert weight["pods"] == 2 * PODS
        yield Figure("operator idle, 10,000 pods cached", weight["mebibytes"], 150, "MiB")


def _listing(kubeconfig: str) -> Iterator[Figure]:
    for words, measure, limit in (
        ("list 5,000 pods", caching.list_in_pages, 0.3),
        ("fill a cache with 5,000 pods, by watch", caching.fill_a_cache, 0.6),
    ):
        runs = [fresh(measure, kubeconfig) for _ in range(10)]
        assert all(run["pods"] == PODS for run in runs)
        yield Figure(words, min(run["cpu"] for run in runs), limit, "CPU-s")
        yield Figure(f"{words}: kept", min(run["megabytes"] for run in runs), 30, "MB")


def _events(kubeconfig: str) -> Figure:
    """Each run follows a burst of new pods; together they double the pods."""
    begins = [PODS + BURST * run for run in RUNS]
    runs = [fresh(caching.follow_changes, kubeconfig, str(begin), str(begin + BURST)) for begin in begins]
    words = "watch events to cache, owner and queue"
    return Figure(words, max(run["rate"] for run in runs), 8000, "per CPU-s", floor=True)


def _applying(plane: ControlPlane) -> Iterator[Figure]:
    kubeconfig = str(plane.kubeconfig)
    for act, words, limit in (
        (Act.CREATED, "apply 1,000 new objects", 2.5),
        (Act.UNCHANGED, "apply 1,000 unchanged objects", 0.2),
    ):
        runs = [fresh(applying.apply, kubeconfig, f"bench-{run}", f"bench-{act}", act) for run in RUNS]
        assert all(run["as expected"] == applying.OBJECTS for run in runs)
        yield Figure(words, min(run["cpu"] for run in runs), limit, "CPU-s")
    writes = _writes(plane.audit_log, f"bench-{Act.UNCHANGED}")
    yield Figure("apply 1,000 unchanged objects: writes", writes, 0, "requests")


def _writes(audit_log: Path, agent: str) -> int:
    """How many of the agent's requests the API server has seen that were no reads."""
    entries = [json.loads(line) for line in audit_log.read_text().splitlines()]
    verbs = [entry["verb"] for entry in entries if entry.get("userAgent") == agent]
    assert verbs, f"the audit log does not know {agent}"
    return sum(verb not in {"get", "list", "watch"} for verb in verbs)


async def _prepare(kubeconfig: Path) -> None:
    async with Client(config.load(kubeconfig)) as client:
        for name in (pods.NAMESPACE, *(f"bench-{run}" for run in RUNS)):
            await client.create(NAMESPACES, _named(NAMESPACES, name))
        # Pods are refused without it, and the controller that would make it does not run here.
        await client.create(SERVICE_ACCOUNTS, _named(SERVICE_ACCOUNTS, "default", pods.NAMESPACE))


def _named(resource: Resource, name: str, namespace: str | None = None) -> Manifest:
    metadata = {"name": name} if namespace is None else {"name": name, "namespace": namespace}
    return {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": metadata}
