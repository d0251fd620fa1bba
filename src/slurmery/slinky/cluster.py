"""What every pod of a cluster needs of its Controller."""

from slurmery.api.slinky import Controller
from slurmery.api.slinky.shared import LocalRef
from slurmery.doors.conditions import Problem
from slurmery.slinky.checks import missing_key


def missing(ref: LocalRef, controller: Controller | None, slurm_key_hash: str | None) -> list[Problem]:
    """Why pods of the cluster could not start: no Controller, or no key to speak to it with."""
    if controller is None:
        return [
            Problem("ControllerNotFound", f"Controller {ref.name}, named by controllerRef, does not exist.")
        ]
    return missing_key(f"slurmKeyRef of Controller {ref.name}", controller.spec.slurm_key_ref, slurm_key_hash)
