"""Which of several slurmctld is the active one, and so gets the label that leads clients to it."""

from dataclasses import dataclass

from slurmery.api.slinky import Controller
from slurmery.slinky import names
from slurmery.slinky.controller.observed import Observed


@dataclass(frozen=True)
class Relabel:
    """A pod that must get the label, or lose it."""

    pod: str
    active: bool


def relabels(controller: Controller, observed: Observed) -> tuple[Relabel, ...]:
    """The labels that must change; first the one that is set, so that clients find somebody meanwhile."""
    active = active_pod(controller, observed)
    wrong = [pod for pod in observed.pods if pod.active != (pod.name == active)]
    return tuple(Relabel(pod.name, not pod.active) for pod in sorted(wrong, key=lambda pod: pod.active))


def active_pod(controller: Controller, observed: Observed) -> str:
    """The first that answers; when Slurm cannot be asked, whoever has been it, unless that one is down."""
    pods = {pod.name: pod for pod in observed.pods}
    for host in observed.answering:
        if host in pods:
            return host
    ordered = [
        names.controller_pod(controller.metadata.name, ordinal) for ordinal in range(controller.spec.replicas)
    ]
    ready = [name for name in ordered if name in pods and pods[name].ready]
    held = [name for name in ready if pods[name].active]
    return [*held, *ready, *ordered][0]
