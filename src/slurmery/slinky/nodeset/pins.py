"""pinToNode: a numbered worker returns to the Kubernetes node that it first ran on, while that fits."""

from collections.abc import Iterable, Mapping

from slurmery.slinky.nodeset.placement import PodSpec, fits
from slurmery.slinky.nodeset.views import Host
from slurmery.workers.model import Worker

Pins = Mapping[str, str]


def renewed(before: Pins, spec: PodSpec, hosts: Mapping[str, Host], workers: Iterable[Worker]) -> Pins:
    """The pins that still hold, and those of workers that run and have none yet."""
    kept = {
        number: node
        for number, node in before.items()
        if node in hosts and fits(spec, hosts[node], running=True)
    }
    fresh = {
        str(worker.slot): worker.host
        for worker in workers
        if isinstance(worker.slot, int) and worker.phase == "Running" and worker.host
    }
    return fresh | kept
