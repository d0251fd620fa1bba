"""What should be, for a LoginSet: from the spec and the observed world to objects and conditions.

something is wrong that a person must mend   host keys, Service and sshd_config; what runs is left as it is
else                                         and the Deployment
"""

from collections.abc import Mapping
from typing import Any, Final

from slurmery.api.slinky import LoginSet
from slurmery.doors import hashes
from slurmery.doors.conditions import Problem, degraded, progressing, ready
from slurmery.doors.plan import Plan
from slurmery.kube.desired import Desired, Policy
from slurmery.kube.resources import CONFIG_MAPS, DEPLOYMENTS, SECRETS, SERVICES
from slurmery.kube.selectors import equal
from slurmery.slinky import cluster, names
from slurmery.slinky.checks import attempt, imageless, missing_key
from slurmery.slinky.loginset.build import deployment, host_keys, service, ssh_config, ssh_files
from slurmery.slinky.loginset.observed import Observed

# Upstream has none: there, a root key that was taken away still opens the pods that run.
AUTHORIZED_KEYS_HASH: Final = "slinky.slurm.net/authorized-keys-hash"

_DAEMON: Final = names.LOGIN.name


def decide(loginset: LoginSet, observed: Observed, fresh: Mapping[str, bytes] | None = None) -> Plan:
    """The plan for a LoginSet that is not being deleted.

    `fresh` are new host keys (`hostkeys.generate`), needed only while `observed` knows of none.
    """
    blocked = _obstacles(loginset, observed)
    desired: list[Desired] = []
    if observed.host_keys_hash is None and fresh:
        desired.append(Desired(SECRETS, host_keys(loginset, fresh), Policy.CREATE_ONCE))
    files = attempt(blocked, lambda: ssh_files(loginset))
    if files:
        desired.append(Desired(CONFIG_MAPS, ssh_config(loginset, files)))
    reached = attempt(blocked, lambda: service(loginset))
    if reached:
        desired.append(Desired(SERVICES, reached))
    workload = _workload(blocked, loginset, observed, _read(observed, files or {}, fresh or {}))
    wanted = loginset.spec.replicas
    return Plan(
        desired=(*desired, *workload) if not blocked else tuple(desired),
        conditions=(
            ready(observed.rollout, wanted, _DAEMON, enough=1, blocked=blocked),
            progressing(observed.rollout, wanted, _DAEMON, blocked=blocked),
            degraded(blocked),
        ),
    )


def status(loginset: LoginSet, observed: Observed) -> dict[str, Any]:
    """What `kubectl scale` and autoscalers read, beside the conditions."""
    return {
        "replicas": observed.rollout.replicas if observed.rollout else 0,
        "selector": str(equal(names.selector(names.LOGIN, loginset.metadata.name))),
    }


def _obstacles(loginset: LoginSet, observed: Observed) -> list[Problem]:
    """What must be there before anything is changed."""
    return [
        *cluster.missing(loginset.spec.controller_ref, observed.controller, observed.slurm_key_hash),
        *missing_key("sssdConfRef", loginset.spec.sssd_conf_ref, observed.sssd_conf_hash),
    ]


def _read(observed: Observed, files: Mapping[str, str], fresh: Mapping[str, bytes]) -> dict[str, str]:
    """Hashes of what the pods read only when they start, by annotation."""
    return {
        names.SLURM_KEY_HASH: observed.slurm_key_hash or "",
        names.SSH_HOST_KEYS_HASH: observed.host_keys_hash or hashes.of_map(fresh),
        names.SSHD_CONF_HASH: hashes.of_value(files.get(names.SSHD_CONFIG, "")),
        names.SSSD_CONF_HASH: observed.sssd_conf_hash or "",
        AUTHORIZED_KEYS_HASH: hashes.of_value(files.get(names.AUTHORIZED_KEYS, "")),
    }


def _workload(
    blocked: list[Problem], loginset: LoginSet, observed: Observed, read: Mapping[str, str]
) -> tuple[Desired, ...]:
    controller = observed.controller
    if controller is None or not read[names.SSH_HOST_KEYS_HASH]:
        return ()
    workload = attempt(blocked, lambda: deployment(loginset, controller, observed.domain, read))
    if workload is None:
        return ()
    blocked += imageless(workload)
    return (Desired(DEPLOYMENTS, workload),)
