"""What should be, for a RestApi: from the spec and the observed world to objects and conditions.

something is wrong that a person must mend   the Service only; what runs is left as it is
slurm.conf is not there yet                  the same, but nobody need do anything
else                                         Service and Deployment
"""

from dataclasses import replace
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
    blocked = cluster.missing(restapi.spec.controller_ref, observed.controller, observed.slurm_key_hash)
    reached = attempt(blocked, lambda: service(restapi))
    workload = _workload(blocked, restapi, observed)
    desired = [Desired(SERVICES, reached)] if reached else []
    awaited = _awaited(observed)
    obstacles = [*blocked, *awaited]
    wanted = restapi.spec.replicas
    moving = progressing(observed.rollout, wanted, _DAEMON, blocked=obstacles)
    return Plan(
        desired=(*desired, *workload) if not obstacles else tuple(desired),
        conditions=(
            ready(observed.rollout, wanted, _DAEMON, enough=1, blocked=obstacles),
            moving if blocked or not awaited else replace(moving, status="True"),
            degraded(blocked),
        ),
        prune=() if obstacles else PRUNED,
    )


def _awaited(observed: Observed) -> list[Problem]:
    """What the Controller has yet to make: nobody need mend that."""
    if observed.controller is None or observed.slurm_conf_hash is not None:
        return []
    config = names.controller_config(observed.controller.metadata.name)
    return [Problem("ConfigNotFound", f"ConfigMap {config} with slurm.conf does not exist yet.")]


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
