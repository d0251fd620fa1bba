"""Who still needs what somebody deletes: a cluster is taken down in an order that loses no running job.

    NodeSets drain ──► Controller goes ──► and with it RestApi and Accounting

Whoever takes a cluster down deletes all of it in the same moment, in any order. So a RestApi or Accounting
also waits a little to see whether its cluster is going, too. `slurmery/force-delete: "true"` on an object
lets it go at once.
"""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Final

from slurmery.doors import marks
from slurmery.doors.views import Custom
from slurmery.kube.meta import Key
from slurmery.slinky.caches import Caches
from slurmery.slinky.kinds import ACCOUNTINGS, CONTROLLERS, NODE_SETS, REST_APIS
from slurmery.slinky.references import uses

_HESITATION: Final = timedelta(seconds=30)
_REMEDY: Final = f'or annotate this object with {marks.FORCE}="true"'


def controller(caches: Caches, view: Custom) -> str:
    """A Controller is needed as long as NodeSets are of its cluster."""
    nodesets = caches.users(NODE_SETS, CONTROLLERS, view.key)
    if not nodesets or marks.forced(view.annotations):
        return ""
    staying = [each for each in nodesets if not each.deleting]
    waits = f"Deletion waits until the NodeSets of the cluster are drained and gone: {_names(nodesets)}."
    if staying:
        return f"{waits} Delete {_names(staying)}, too, {_REMEDY}."
    return f"{waits} Wait for their jobs, {_REMEDY}."


def restapi(caches: Caches, view: Custom) -> str:
    """The last RestApi of a cluster is needed to drain NodeSets that are going."""
    if marks.forced(view.annotations):
        return ""
    for key in (used for kind, used in uses(view) if kind == CONTROLLERS):
        others = [each for each in caches.users(REST_APIS, CONTROLLERS, key) if not each.deleting]
        going = [] if others else _going(caches, key, view)
        if going:
            return f"Deletion waits until the NodeSets {_names(going)} are drained, {_REMEDY}."
    return ""


def accounting(caches: Caches, view: Custom) -> str:
    """An Accounting is needed as long as a cluster that is going has jobs to record."""
    if marks.forced(view.annotations):
        return ""
    clusters = caches.users(CONTROLLERS, ACCOUNTINGS, view.key)
    going = [each for each in clusters if _going(caches, each.key, view)]
    if not going:
        return ""
    return f"Deletion waits until the jobs of the Controllers {_names(going)} are recorded, {_REMEDY}."


def _going(caches: Caches, cluster: Key, deleted: Custom) -> list[Custom]:
    """The NodeSets of a cluster that are going, or might be, so soon after one of its parts was deleted."""
    nodesets = caches.users(NODE_SETS, CONTROLLERS, cluster)
    found = caches.custom[CONTROLLERS].get(cluster)
    since = deleted.metadata.deletion_timestamp
    soon = since is not None and datetime.now(UTC) - since < _HESITATION
    all_of_it = soon or (found is not None and found.deleting)
    return [each for each in nodesets if all_of_it or each.deleting]


def _names(views: Iterable[Custom]) -> str:
    return ", ".join(sorted(view.metadata.name for view in views))
