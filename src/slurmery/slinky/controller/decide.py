"""What should be, for a Controller: from the spec and the observed world to objects and conditions.

something is wrong that a person must mend   Services only; what runs is left as it is
slurmctld runs elsewhere                     its address in a slurm.conf for slurmrestd
else                                         Services, slurm.conf, StatefulSet, and what was asked for
"""

import base64
from dataclasses import dataclass, replace
from typing import Any, Final

from slurmery.api.slinky import Controller
from slurmery.api.slinky.shared import Labelled
from slurmery.doors.conditions import PROGRESSING, READY, Condition, Problem, degraded, progressing, ready
from slurmery.doors.hold import lasting
from slurmery.doors.merge import merge_metadata
from slurmery.doors.plan import Plan
from slurmery.kube.desired import Desired, Policy
from slurmery.kube.resources import (
    CONFIG_MAPS,
    POD_DISRUPTION_BUDGETS,
    SECRETS,
    SERVICE_MONITORS,
    SERVICES,
    STATEFUL_SETS,
)
from slurmery.slinky import endpoints, names
from slurmery.slinky.checks import attempt, imageless, missing_key
from slurmery.slinky.controller import files, gres, rotation
from slurmery.slinky.controller.active import Relabel, active_pod, relabels
from slurmery.slinky.controller.config import Config, config, external_config
from slurmery.slinky.controller.observed import Observed
from slurmery.slinky.controller.services import (
    active_service,
    host_services,
    internal_service,
    service_monitor,
)
from slurmery.slinky.controller.workload import disruption_budget, stateful_set

PRUNED: Final = (STATEFUL_SETS, SERVICES, CONFIG_MAPS, SECRETS, POD_DISRUPTION_BUDGETS, SERVICE_MONITORS)

# How soon to look again: is the last job of an unwanted partition gone?
_PARTITION_SECONDS: Final = 30.0
_ARRIVAL_SECONDS: Final = 1.0

_DAEMON: Final = names.SLURMCTLD.name


@dataclass(frozen=True)
class ControllerPlan(Plan):
    """A plan, and the pods whose label must change."""

    relabels: tuple[Relabel, ...] = ()


def decide(controller: Controller, observed: Observed) -> ControllerPlan:
    """The plan for a Controller that is not being deleted."""
    if controller.spec.external:
        return _external(controller, observed)
    blocked = _obstacles(controller, observed)
    services = attempt(
        blocked,
        lambda: [internal_service(controller), active_service(controller), *host_services(controller)],
    )
    written = attempt(blocked, lambda: config(controller, observed))
    workload = _workload(blocked, controller, observed, written)
    desired = [Desired(SERVICES, service) for service in services or ()]
    # A slurm.conf of this moment would be replaced in the next, and slurmctld with it.
    early = observed.arriving and observed.rollout is None
    if written and workload and not blocked and not early:
        desired += [*_cluster(controller, written, workload), *_key_copy(controller, observed)]
    plan = ControllerPlan(
        desired=tuple(desired),
        conditions=_conditions(controller, observed, blocked, written),
        prune=() if blocked or early else PRUNED,
        requeue=_ARRIVAL_SECONDS if early else _PARTITION_SECONDS if written and written.waiting else None,
        relabels=relabels(controller, observed),
    )
    rotating = rotation.wait(controller, observed)
    return lasting(plan, rotation.REASON, rotating) if rotating else plan


def _external(controller: Controller, observed: Observed) -> ControllerPlan:
    problems: list[Problem] = []
    written = attempt(problems, lambda: external_config(controller, observed))
    at = endpoints.slurmctld(controller)
    return ControllerPlan(
        desired=(_config_map(controller, written), *_key_copy(controller, observed)) if written else (),
        conditions=(
            Condition(READY, "True", "External", f"slurmctld runs outside Kubernetes, at {at}."),
            Condition(PROGRESSING, "False", "External", "Nothing is deployed for an external slurmctld."),
            degraded([*problems, *_no_accounting(controller, observed)]),
        ),
        prune=() if problems else PRUNED,
    )


def _obstacles(controller: Controller, observed: Observed) -> list[Problem]:
    """What must be mended before anything is changed."""
    spec = controller.spec
    return [
        *missing_key("slurmKeyRef", spec.slurm_key_ref, observed.slurm_key_hash),
        *missing_key("jwtKeyRef", spec.jwt_key, observed.jwt_key_hash),
        *files.missing(controller, observed),
        *files.reserved(controller, observed),
        *_not_shared(controller, observed),
    ]


def _not_shared(controller: Controller, observed: Observed) -> list[Problem]:
    """Several slurmctld need one volume that all of them can write."""
    persistence = controller.spec.persistence
    if controller.spec.replicas == 1:
        return []
    if not persistence.enabled or not persistence.existing_claim:
        message = "ha needs persistence with an existingClaim, a volume that all slurmctld pods share."
        return [Problem("ClaimNotGiven", message)]
    if observed.claim_modes is None or "ReadWriteMany" in observed.claim_modes:
        return []
    message = f"PersistentVolumeClaim {persistence.existing_claim} does not offer ReadWriteMany, as ha needs."
    return [Problem("ClaimNotShared", message)]


def _workload(
    blocked: list[Problem], controller: Controller, observed: Observed, written: Config | None
) -> dict[str, Any] | None:
    if written is None:
        return None
    workload = attempt(blocked, lambda: stateful_set(controller, observed, written.files))
    if workload:
        blocked += imageless(workload)
    return workload


def _cluster(controller: Controller, written: Config, workload: dict[str, Any]) -> list[Desired]:
    metrics = controller.spec.metrics
    desired = [
        _config_map(controller, written),
        Desired(STATEFUL_SETS, workload, Policy.RECREATE_ORPHANING),
    ]
    if controller.spec.replicas > 1:
        desired.append(Desired(POD_DISRUPTION_BUDGETS, disruption_budget(controller)))
    if metrics.enabled and metrics.service_monitor.enabled:
        desired.append(Desired(SERVICE_MONITORS, service_monitor(controller)))
    return desired


def _config_map(controller: Controller, written: Config) -> Desired:
    manifest = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": _metadata(controller, names.controller_config(controller.metadata.name)),
        "immutable": False,
        "data": written.files,
    }
    return Desired(CONFIG_MAPS, manifest)


def _key_copy(controller: Controller, observed: Observed) -> list[Desired]:
    """The key that signs our tokens, for when the cluster is taken down and its own Secret goes first."""
    if not observed.jwt_key:
        return []
    manifest = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": _metadata(controller, names.controller_keys(controller.metadata.name)),
        "type": "Opaque",
        "data": {names.JWT_KEY: base64.b64encode(observed.jwt_key).decode()},
    }
    return [Desired(SECRETS, manifest)]


def _metadata(controller: Controller, name: str) -> dict[str, Any]:
    labels = names.labels(names.SLURMCTLD, controller.metadata.name)
    return {
        "name": name,
        "namespace": controller.metadata.namespace,
        **merge_metadata(controller.metadata, Labelled(labels=labels)),
    }


def _conditions(
    controller: Controller, observed: Observed, blocked: list[Problem], written: Config | None
) -> tuple[Condition, ...]:
    wanted = controller.spec.replicas
    moving = progressing(observed.rollout, wanted, _DAEMON, blocked=blocked)
    if moving.status == "False" and not blocked and written and written.waiting:
        moving = _waiting(written.waiting, known=observed.job_partitions is not None)
    problems = [
        *blocked,
        *_no_accounting(controller, observed),
        *_no_claim(controller, observed),
        *files.doubled(controller, observed),
        *(written.problems if written else ()),
        *gres.problems(controller, observed),
    ]
    return (
        _ready(controller, observed, blocked),
        moving,
        degraded(problems),
    )


def _ready(controller: Controller, observed: Observed, blocked: list[Problem]) -> Condition:
    """One slurmctld does the work; the others only stand by."""
    wanted = controller.spec.replicas
    condition = ready(observed.rollout, wanted, _DAEMON, enough=1, blocked=blocked)
    if wanted == 1 or condition.status != "True":
        return condition
    known = "says Slurm" if observed.answering else "as before, since Slurm does not say"
    active = f"{active_pod(controller, observed)} is active, {known}."
    return replace(condition, message=f"{condition.message} {active}")


def _waiting(partitions: tuple[str, ...], *, known: bool) -> Condition:
    message = (
        f"Closed to new jobs, and kept until no job record names them: partitions {', '.join(partitions)}."
    )
    if not known:
        message += " Slurm has not told which partitions its jobs name; is there a RestApi that answers?"
    return Condition(PROGRESSING, "True", "PartitionInUse", message)


def _no_accounting(controller: Controller, observed: Observed) -> list[Problem]:
    ref = controller.spec.accounting_ref
    if ref is None or not ref.name or observed.accounting:
        return []
    message = f"Accounting {ref.name}, named by accountingRef, does not exist: jobs may go unrecorded."
    return [Problem("AccountingNotFound", message)]


def _no_claim(controller: Controller, observed: Observed) -> list[Problem]:
    claim = controller.spec.persistence.existing_claim
    if not controller.spec.persistence.enabled or not claim or observed.claim_modes is not None:
        return []
    message = f"PersistentVolumeClaim {claim} does not exist: slurmctld pods wait for it."
    return [Problem("ClaimNotFound", message)]
