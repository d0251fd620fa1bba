"""The jail's content: which Job fills it, when, and whether the cluster may use it.

    none, downscale        filled once; that it was is remembered in a condition, and the Job is removed
    …DeletePopulateJail    the memory and the Job are removed: the next filling finds out what is there
    …OverwritePopulateJail filled anew, once per stay in this mode, after the last pod is gone
    skipPopulateJail       somebody else fills it

Nothing waits here: a Job under way or failed is said in a condition, and other clusters never notice.
"""

from dataclasses import dataclass
from typing import Final

from slurmery.doors.conditions import Condition, Problem
from slurmery.nebius.cluster import Cluster
from slurmery.nebius.slurmcluster.observed import Filling, Observed

MODE: Final = "PopulateJailMode"
POPULATED: Final = "JailPopulated"
_OVERWRITE: Final = "downscaleAndOverwritePopulateJail"
_OVERWRITTEN: Final = "Overwritten"
_FILLED: Final = "Populated"


@dataclass(frozen=True)
class Jail:
    """`job` is whether the Job should exist, `usable` whether pods may mount the jail."""

    job: bool
    usable: bool
    conditions: tuple[Condition, ...]
    problems: tuple[Problem, ...] = ()


def jail(cluster: Cluster, observed: Observed, pods_left: int) -> Jail:
    """How it stands with the jail; `pods_left` are pods that still use it."""
    mode = Condition(MODE, "True", cluster.spec.maintenance, "As spec.maintenance says.")
    status, reason = observed.said.get(POPULATED, ("Unknown", ""))
    match cluster.spec.maintenance:
        case "skipPopulateJail":
            words = "The jail is not filled by us: spec.maintenance is skipPopulateJail."
            return Jail(False, True, (mode, Condition(POPULATED, "True", "Skipped", words)))
        case "downscaleAndDeletePopulateJail":
            words = "The Job was removed; the next one finds out what is in the jail."
            return Jail(False, True, (mode, Condition(POPULATED, "False", "Deleted", words)))
        case "downscaleAndOverwritePopulateJail":
            return _overwritten(cluster, observed, mode, pods_left)
    if status == "True" and reason != "Skipped":
        return Jail(False, True, (mode, _filled(reason)))
    return _filling(cluster, observed, mode, overwrites=cluster.spec.populate_jail.overwrite)


def _overwritten(cluster: Cluster, observed: Observed, mode: Condition, pods_left: int) -> Jail:
    entered = observed.said.get(MODE, ("", ""))[1] != _OVERWRITE
    status, reason = observed.said.get(POPULATED, ("Unknown", ""))
    if not entered and status == "True" and reason == _OVERWRITTEN:
        return Jail(False, True, (mode, _filled(_OVERWRITTEN)))
    if pods_left:
        words = f"The jail is overwritten when its pods are gone; {pods_left} are left."
        return Jail(False, False, (mode, Condition(POPULATED, "False", "WaitsForPods", words)))
    if entered or (observed.populate and not observed.populate.overwrites):
        # A Job from before must be gone first: it says nothing about this filling.
        words = "The jail is about to be overwritten."
        return Jail(False, False, (mode, Condition(POPULATED, "False", "Overwriting", words)))
    return _filling(cluster, observed, mode, overwrites=True)


def _filling(cluster: Cluster, observed: Observed, mode: Condition, *, overwrites: bool) -> Jail:
    job = observed.populate
    name = cluster.names.populate_jail
    if job is None or job.state is Filling.RUNS:
        words = f"Job {name} fills the jail; nothing else starts before."
        return Jail(True, False, (mode, Condition(POPULATED, "False", "Populating", words)))
    if job.state is Filling.FAILED:
        words = f"Job {name} failed: {job.words} Look at its pod's log, mend the cause and delete the Job."
        return Jail(
            True,
            False,
            (mode, Condition(POPULATED, "False", "PopulateFailed", words)),
            (Problem("PopulateFailed", words),),
        )
    again = cluster.spec.maintenance == _OVERWRITE and overwrites
    # The Job is removed when this is written down, not before: else it would be made again.
    return Jail(True, True, (mode, _filled(_OVERWRITTEN if again else _FILLED)))


def _filled(reason: str) -> Condition:
    return Condition(POPULATED, "True", reason or _FILLED, "The jail has its content.")
