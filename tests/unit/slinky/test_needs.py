"""Who still needs what is deleted."""

from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any, cast

import pytest

from slurmery.doors import marks
from slurmery.doors.views import Custom
from slurmery.kube.meta import Key, ObjectMeta, Resource
from slurmery.slinky import needs
from slurmery.slinky.caches import Caches
from slurmery.slinky.kinds import CONTROLLERS, NODE_SETS, REST_APIS
from slurmery.slinky.references import uses

IN_CLUSTER = {"controllerRef": {"name": "slurm"}}
RECORDED = {"accountingRef": {"name": "db"}}


def thing(
    name: str, spec: dict[str, Any] | None = None, *, going: float | None = None, forced: bool = False
) -> Custom:
    """An object; one that is `going` was deleted so many seconds ago."""
    since = None if going is None else datetime.now(UTC) - timedelta(seconds=going)
    notes = {marks.FORCE: "true"} if forced else None
    return Custom(ObjectMeta(name, "slurm", deletion_timestamp=since, annotations=notes), spec or {})


def world(**objects: list[Custom]) -> Caches:
    """A namespace with these objects and no Kubernetes around it."""
    kinds = {"controllers": CONTROLLERS, "nodesets": NODE_SETS, "restapis": REST_APIS}
    found = {kind: objects.get(name, []) for name, kind in kinds.items()}

    def users(kind: Resource, used: Resource, key: Key) -> list[Custom]:
        return [each for each in found[kind] if (used, key) in uses(each)]

    def get(key: Key) -> Custom | None:
        return next((each for each in found[CONTROLLERS] if each.key == key), None)

    return cast("Caches", SimpleNamespace(users=users, custom={CONTROLLERS: SimpleNamespace(get=get)}))


def test_a_controller_is_needed_by_every_nodeset_of_its_cluster() -> None:
    gone = thing("slurm", going=3600)
    workers = [thing("gpu", IN_CLUSTER, going=1), thing("cpu", IN_CLUSTER)]
    assert "drained and gone: cpu, gpu. Delete cpu, too," in needs.controller(world(nodesets=workers), gone)
    assert "Wait for their jobs" in needs.controller(world(nodesets=workers[:1]), gone)
    assert needs.controller(world(), gone) == ""
    assert needs.controller(world(nodesets=workers), thing("slurm", going=0, forced=True)) == ""


@pytest.mark.parametrize(
    ("ago", "nodeset", "controller", "others", "needed"),
    [
        (0, None, None, [], True),
        (31, None, None, [], False),
        (3600, 1, None, [], True),
        (3600, None, 1, [], True),
        (0, 1, 1, [thing("other", IN_CLUSTER)], False),
    ],
    ids=[
        "perhaps the rest follows",
        "the rest stays",
        "a NodeSet drains",
        "the cluster is taken down",
        "another RestApi stays",
    ],
)
def test_a_restapi_is_needed_while_nodesets_are_going(
    ago: float, nodeset: float | None, controller: float | None, others: list[Custom], *, needed: bool
) -> None:
    mine = thing("rest", IN_CLUSTER, going=ago)
    found = world(
        nodesets=[thing("gpu", IN_CLUSTER, going=nodeset)],
        controllers=[thing("slurm", going=controller)],
        restapis=[mine, *others],
    )
    assert bool(needs.restapi(found, mine)) == needed
    assert needs.restapi(found, thing("rest", IN_CLUSTER, going=ago, forced=True)) == ""


@pytest.mark.parametrize(
    ("ago", "controller", "workers", "needed"),
    [(0, None, True, True), (31, None, True, False), (3600, 1, True, True), (0, 1, False, False)],
    ids=["perhaps the rest follows", "the rest stays", "jobs are to be recorded", "there are no jobs"],
)
def test_an_accounting_is_needed_while_a_cluster_is_going(
    ago: float, controller: float | None, *, workers: bool, needed: bool
) -> None:
    found = world(
        nodesets=[thing("gpu", IN_CLUSTER)] if workers else [],
        controllers=[thing("slurm", RECORDED, going=controller)],
    )
    assert bool(needs.accounting(found, thing("db", going=ago))) == needed


def test_what_nobody_names_goes_at_once() -> None:
    assert needs.restapi(world(), thing("rest", IN_CLUSTER, going=0)) == ""
    assert needs.accounting(world(controllers=[thing("slurm")]), thing("db", going=0)) == ""
