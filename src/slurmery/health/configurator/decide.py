"""What should be, for a NodeConfigurator, and how it stands: pure."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from slurmery.api.nebius import NodeConfigurator
from slurmery.api.nebius.nodeconfigurator import NodeConfiguratorSpec
from slurmery.doors.conditions import Condition, Problem, Rollout, degraded, progressing, ready
from slurmery.doors.plan import Plan
from slurmery.health.configurator.build import daemon_set
from slurmery.kube.desired import Desired, Policy
from slurmery.kube.meta import Key
from slurmery.kube.resources import DAEMON_SETS

AVAILABLE: Final = "Available"
_PODS: Final = "node-configurator"


@dataclass(frozen=True)
class Observed:
    """What the DaemonSet reports, and on how many nodes it wants pods; None if there is none."""

    rollout: Rollout | None = None
    wanted: int = 0


@dataclass(frozen=True)
class ConfiguratorPlan(Plan):
    """A plan, and the status beside the conditions."""

    update_status: str = ""
    reason: str = ""


def decide(configurator: NodeConfigurator, observed: Observed) -> ConfiguratorPlan:
    """The plan for a NodeConfigurator that is not being deleted."""
    metadata = configurator.metadata
    spec = configurator.spec or NodeConfiguratorSpec()
    blocked = _problems(spec)
    manifest = None if blocked else daemon_set(Key(metadata.namespace, metadata.name), spec)
    if manifest is None and not blocked:
        return _nothing()
    available = ready(observed.rollout, observed.wanted, _PODS, blocked=blocked)
    moving = progressing(observed.rollout, observed.wanted, _PODS, blocked=blocked)
    if observed.rollout is None and not blocked:
        available = Condition(AVAILABLE, "False", "PodsNotReady", "The pods are about to be created.")
    return ConfiguratorPlan(
        desired=(Desired(DAEMON_SETS, manifest, Policy.RECREATE),) if manifest else (),
        conditions=(replace(available, type=AVAILABLE), moving, degraded(blocked)),
        prune=() if blocked else (DAEMON_SETS,),
        update_status="failed" if blocked else "updating" if moving.status == "True" else "succeeded",
        reason=moving.message,
    )


def status(configurator: NodeConfigurator, _: Observed, plan: ConfiguratorPlan) -> Mapping[str, Any]:
    """The fields beside the conditions."""
    return {
        "updateStatus": plan.update_status,
        "reason": plan.reason,
        "observedGeneration": configurator.metadata.generation or 0,
    }


def _problems(spec: NodeConfiguratorSpec) -> list[Problem]:
    if not spec.rebooter.enabled or spec.rebooter.image:
        return []
    return [
        Problem("ImageMissing", "The container rebooter has no image: spec.rebooter.image must give one.")
    ]


def _nothing() -> ConfiguratorPlan:
    words = "Neither the rebooter nor a container of your own is enabled."
    said = (
        Condition(AVAILABLE, "False", "Disabled", words),
        Condition("Progressing", "False", "Disabled", words),
    )
    return ConfiguratorPlan(
        (), (*said, degraded([])), (DAEMON_SETS,), update_status="succeeded", reason=words
    )
