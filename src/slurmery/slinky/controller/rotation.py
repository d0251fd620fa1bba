"""A new slurm.key: when the cluster may take it.

    Secret changes ──► no worker has jobs ──► slurmctld ──► slurmdbd, slurmrestd, login, workers

Daemons with different keys do not understand each other, and a job cannot change its key: slurmctld would
give up nodes whose slurmd has the old one, and their jobs with them. Whenever slurmctld starts anew, it reads
the new key. So until no job runs, nothing about the cluster changes. A new jwt.key needs no such care: it is
only for tokens, and jobs outlive a restart of slurmctld.
"""

from typing import Final

from slurmery.api.slinky import Controller
from slurmery.slinky.controller.observed import Observed

REASON: Final = "KeyRotation"
NOW: Final = "slurmery/rotate-now"
_SHOWN: Final = 5


def wait(controller: Controller, observed: Observed) -> str:
    """Why a new key must wait, in a sentence; "" if there is none, or it may be taken."""
    if observed.key_in_force in {None, "", observed.slurm_key_hash} or observed.slurm_key_hash is None:
        return ""
    if observed.busy == () or _no_workers(observed) or controller.metadata.annotations.get(NOW) == "true":
        return ""
    jobs = "Slurm does not say which workers have jobs"
    if observed.busy:
        shown = ", ".join(observed.busy[:_SHOWN])
        more = f" and {len(observed.busy) - _SHOWN} more" if len(observed.busy) > _SHOWN else ""
        jobs = f"there are jobs on {shown}{more}"
    return (
        f"slurm.key has changed. With it, running jobs would be lost, and {jobs}: until they are done, "
        f'nothing about the cluster changes. Drain the workers, or annotate this object with {NOW}="true".'
    )


def _no_workers(observed: Observed) -> bool:
    wanted = any(each.spec.replicas for each in observed.nodesets)
    return not wanted and not any(each.status and each.status.replicas for each in observed.nodesets)
