"""Controllers, Accountings and the worlds around them, as tests need them."""

from typing import Any

from slurmery.api.slinky import Accounting, Controller, NodeSet
from slurmery.doors.conditions import Rollout
from slurmery.slinky.accounting.observed import Observed as AccountingWorld
from slurmery.slinky.controller.observed import Observed as ControllerWorld

KEYS = {
    "slurmKeyRef": {"name": "slurm-auth-slurm", "key": "slurm.key"},
    "jwtKeyRef": {"name": "slurm-auth-jwt", "key": "jwt.key"},
}
SETTLED = Rollout(generation=1, observed_generation=1, replicas=1, ready=1, updated=1)


def controller(**spec: Any) -> Controller:
    """A Controller as users write it, with `metadata` beside the spec; if external, without the keys."""
    metadata = spec.pop("metadata", {})
    base: dict[str, Any] = {**KEYS, "slurmctld": {"image": "slurmctld:26.05"}}
    return Controller.model_validate(
        {
            "metadata": {"name": "slurm", "namespace": "slurm", "uid": "c-1", **metadata},
            "spec": {**({} if spec.get("external") else base), **spec},
        }
    )


def accounting(**spec: Any) -> Accounting:
    """An Accounting as users write it, with `metadata` beside the spec; if external, without the keys."""
    metadata = spec.pop("metadata", {})
    base: dict[str, Any] = {
        **KEYS,
        "slurmdbd": {"image": "slurmdbd:26.05"},
        "storageConfig": {
            "host": "mariadb",
            "username": "slurm",
            "passwordKeyRef": {"name": "mariadb-password", "key": "password"},
        },
    }
    return Accounting.model_validate(
        {
            "metadata": {"name": "slurm", "namespace": "slurm", "uid": "a-1", **metadata},
            "spec": {**({} if spec.get("external") else base), **spec},
        }
    )


def nodeset(name: str, **spec: Any) -> NodeSet:
    """A NodeSet of the Controller above."""
    return NodeSet.model_validate(
        {
            "metadata": {"name": name, "namespace": "slurm"},
            "spec": {"controllerRef": {"name": "slurm"}, **spec},
        }
    )


def world(**observed: Any) -> ControllerWorld:
    """Where the keys of a Controller exist."""
    return ControllerWorld(**{"slurm_key_hash": "k1", "jwt_key_hash": "j1", **observed})


def accounting_world(**observed: Any) -> AccountingWorld:
    """Where the keys of an Accounting exist, and the database password."""
    return AccountingWorld(**{"slurm_key_hash": "k1", "jwt_key_hash": "j1", "password": "secret", **observed})
