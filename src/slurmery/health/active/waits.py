"""What a check waits for before it may run: its cluster, and the checks that it depends on."""

from collections.abc import Mapping
from typing import Any, Final

from slurmery.api.nebius.activecheck import ActiveCheckSpec
from slurmery.doors.views import Custom

_DONE: Final = frozenset({"Complete", "Skipped"})


def waits(spec: ActiveCheckSpec, cluster: Custom | None, others: Mapping[str, Custom | None]) -> str:
    """In words; "" if it waits for nothing. `others` are the checks that it depends on."""
    name = spec.slurm_cluster_ref_name
    if cluster is None:
        return f"SlurmCluster {name} does not exist."
    maintenance = cluster.spec.get("maintenance") or ""
    if maintenance.startswith("downscale"):
        return f"SlurmCluster {name} is in maintenance: {maintenance}."
    if (cluster.status or {}).get("phase") != "Available":
        return f"SlurmCluster {name} is not available."
    missing = sorted(other for other, view in others.items() if view is None)
    if missing:
        return f"ActiveCheck {missing[0]} does not exist."
    open_ = sorted(other for other, view in others.items() if view and not passed(view))
    return f"ActiveCheck {open_[0]} has not passed." if open_ else ""


def passed(check: Custom) -> bool:
    """Whether a check's latest run passed; one that does not run by itself is not waited for."""
    if check.spec.get("runAfterCreation") is False:
        return True
    status: dict[str, Any] = check.status or {}
    if check.spec.get("checkType") == "slurmJob":
        run = status.get("slurmJobsStatus") or {}
        return (run.get("lastRunStatus") or run.get("lastJobState")) in _DONE
    return (status.get("k8sJobsStatus") or {}).get("lastJobStatus") in _DONE
