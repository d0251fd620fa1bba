"""What should be, for an Accounting: from the spec and the observed world to objects and conditions.

something is wrong that a person must mend   the Service only; what runs is left as it is
slurmdbd runs elsewhere                      nothing: Controllers are told where it answers
else                                         Service, Secret with slurmdbd.conf, StatefulSet
"""

from typing import Final

from slurmery.api.slinky import Accounting
from slurmery.doors.conditions import PROGRESSING, READY, Condition, Problem, degraded, progressing, ready
from slurmery.doors.hold import lasting
from slurmery.doors.plan import Plan
from slurmery.kube.desired import Desired, Policy
from slurmery.kube.resources import SECRETS, SERVICES, STATEFUL_SETS
from slurmery.slinky import endpoints, names
from slurmery.slinky.accounting.build import secret, service, stateful_set
from slurmery.slinky.accounting.config import slurmdbd_conf
from slurmery.slinky.accounting.observed import Observed
from slurmery.slinky.checks import attempt, imageless, missing_key

PRUNED: Final = (STATEFUL_SETS, SERVICES, SECRETS)

_ROTATION: Final = "KeyRotation"
_DAEMON: Final = names.SLURMDBD.name


def decide(accounting: Accounting, observed: Observed) -> Plan:
    """The plan for an Accounting that is not being deleted."""
    if accounting.spec.external:
        return _external(accounting)
    blocked = _obstacles(accounting, observed)
    reached = attempt(blocked, lambda: service(accounting))
    workload = _workload(blocked, accounting, observed)
    desired = [Desired(SERVICES, reached)] if reached else []
    plan = Plan(
        desired=(*desired, *workload) if not blocked else tuple(desired),
        conditions=(
            ready(observed.rollout, 1, _DAEMON, blocked=blocked),
            progressing(observed.rollout, 1, _DAEMON, blocked=blocked),
            degraded(blocked),
        ),
        prune=() if blocked else PRUNED,
    )
    if not observed.waits_for:
        return plan
    clusters = ", ".join(observed.waits_for)
    return lasting(
        plan, _ROTATION, f"slurm.key has changed; slurmdbd takes it after slurmctld of {clusters}."
    )


def _external(accounting: Accounting) -> Plan:
    at = endpoints.slurmdbd(accounting)
    return Plan(
        desired=(),
        conditions=(
            Condition(READY, "True", "External", f"slurmdbd runs outside Kubernetes, at {at}."),
            Condition(PROGRESSING, "False", "External", "Nothing is deployed for an external slurmdbd."),
            degraded(()),
        ),
        prune=PRUNED,
    )


def _obstacles(accounting: Accounting, observed: Observed) -> list[Problem]:
    """What must be mended before anything is changed."""
    spec = accounting.spec
    problems = [
        *missing_key("slurmKeyRef", spec.slurm_key_ref, observed.slurm_key_hash),
        *missing_key("jwtKeyRef", spec.jwt_key, observed.jwt_key_hash),
    ]
    if spec.storage_config is None:
        problems.append(Problem("StorageNotGiven", "storageConfig is required unless external is true."))
    else:
        ref = spec.storage_config.password_key_ref
        problems += missing_key("storageConfig.passwordKeyRef", ref, observed.password)
    jwks = spec.jwks_key_ref
    if jwks and not jwks.optional and observed.jwks_hash is None:
        message = f"ConfigMap {jwks.name} with key {jwks.key}, named by jwksKeyRef, does not exist."
        problems.append(Problem("ConfigMapNotFound", message))
    return problems


def _workload(blocked: list[Problem], accounting: Accounting, observed: Observed) -> tuple[Desired, ...]:
    storage = accounting.spec.storage_config
    if storage is None:
        return ()
    jwks = accounting.spec.jwks_key_ref is not None and observed.jwks_hash is not None
    conf = attempt(blocked, lambda: slurmdbd_conf(accounting, storage, observed.password or "", jwks=jwks))
    if conf is None:
        return ()
    workload = attempt(blocked, lambda: stateful_set(accounting, observed, conf))
    if workload is None:
        return ()
    blocked += imageless(workload)
    return (
        Desired(SECRETS, secret(accounting, conf)),
        Desired(STATEFUL_SETS, workload, Policy.RECREATE_ORPHANING),
    )
