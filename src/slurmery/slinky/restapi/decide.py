"""What should be, for a RestApi: from the spec and the observed world to objects and conditions.

something is wrong that a person must mend   the Service only; what runs is left as it is
else                                         Service and Deployment
"""

from typing import Final

from slurmery.api.slinky import RestApi
from slurmery.doors.conditions import Problem, degraded, progressing, ready
from slurmery.doors.plan import Plan
from slurmery.kube.desired import Desired
from slurmery.kube.resources import DEPLOYMENTS, SERVICES
from slurmery.slinky import cluster, names
from slurmery.slinky.checks import attempt, imageless
from slurmery.slinky.restapi.build import deployment, service
from slurmery.slinky.restapi.observed import Observed

PRUNED: Final = (DEPLOYMENTS, SERVICES)

_DAEMON: Final = names.SLURMRESTD.name


def decide(restapi: RestApi, observed: Observed) -> Plan:
    """The plan for a RestApi that is not being deleted."""
    blocked = _obstacles(restapi, observed)
    reached = attempt(blocked, lambda: service(restapi))
    workload = _workload(blocked, restapi, observed)
    desired = [Desired(SERVICES, reached)] if reached else []
    wanted = restapi.spec.replicas
    return Plan(
        desired=(*desired, *workload) if not blocked else tuple(desired),
        conditions=(
            ready(observed.rollout, wanted, _DAEMON, enough=1, blocked=blocked),
            progressing(observed.rollout, wanted, _DAEMON, blocked=blocked),
            degraded(blocked),
        ),
        prune=() if blocked else PRUNED,
    )


def _obstacles(restapi: RestApi, observed: Observed) -> list[Problem]:
    """What must be there before anything is changed."""
    problems = cluster.missing(restapi.spec.controller_ref, observed.controller, observed.slurm_key_hash)
    if observed.controller and observed.slurm_conf_hash is None:
        config = names.controller_config(observed.controller.metadata.name)
        problems.append(Problem("ConfigNotFound", f"ConfigMap {config} with slurm.conf does not exist yet."))
    return problems


def _workload(blocked: list[Problem], restapi: RestApi, observed: Observed) -> tuple[Desired, ...]:
    controller = observed.controller
    if controller is None:
        return ()
    read = {
        names.SLURM_CONFIG_HASH: observed.slurm_conf_hash or "",
        names.SLURM_KEY_HASH: observed.slurm_key_hash or "",
    }
    workload = attempt(blocked, lambda: deployment(restapi, controller, read))
    if workload is None:
        return ()
    blocked += imageless(workload)
    return (Desired(DEPLOYMENTS, workload),)
