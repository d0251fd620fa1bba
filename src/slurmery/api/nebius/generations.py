"""Defaults that the two generations of SlurmCluster disagree on.

A CRD can have only one default for a field, so these have none there. The models carry those of 5.0; a
cluster with `slurmNodes.worker`, which only 1.22 knows, gets these instead.
"""

from typing import Any, TypeVar

from pydantic import BaseModel

M = TypeVar("M", bound=BaseModel)

IN_1_22: dict[tuple[str, ...], str | int] = {
    ("slurm_config", "def_mem_per_node"): 1048576,
    ("slurm_config", "min_job_age"): 28800,
    ("plug_stack_config", "nccl_debug", "output_directory"): "/opt/soperator-outputs/nccl_logs",
    ("s_config_controller", "reconfigure_wait_timeout"): "1m",
    ("slurm_nodes", "accounting", "slurm_config", "job_acct_gather_type"): "jobacct_gather/cgroup",
}


def with_defaults_of_1_22(spec: M) -> M:
    """The spec of a SlurmCluster as 1.22 would have completed it."""
    for path, default in IN_1_22.items():
        spec = _filled(spec, path, default)
    return spec


def _filled(part: Any, path: tuple[str, ...], default: str | int) -> Any:
    name, *rest = path
    if part is None or (not rest and name in part.model_fields_set):
        return part
    value = _filled(getattr(part, name), tuple(rest), default) if rest else default
    return part.model_copy(update={name: value})
