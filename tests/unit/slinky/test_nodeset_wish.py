"""What is wanted, where workers fit, and what becomes of workers of the other scaling mode."""

from typing import Any

import pytest

from slurmery.slinky.nodeset.pins import renewed
from slurmery.slinky.nodeset.placement import eligible, fits
from slurmery.slinky.nodeset.views import Host
from slurmery.slinky.nodeset.wish import decide, wish
from slurmery.workers.model import Cause, Worker
from tests.unit.slinky.fleets import host, node
from tests.unit.slinky.sets import nodeset

CORDONED = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}
GPUS = {"key": "gpus", "value": "yes", "effect": "NoSchedule"}
EVICTS = {"key": "gpus", "value": "yes", "effect": "NoExecute"}


def required(*expressions: dict[str, Any], fields: tuple[dict[str, Any], ...] = ()) -> dict[str, Any]:
    term = {"matchExpressions": list(expressions), "matchFields": list(fields)}
    chosen = {"nodeSelectorTerms": [term]}
    return {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": chosen}}}


def expression(operator: str, *values: str, key: str = "size") -> dict[str, Any]:
    return {"key": key, "operator": operator, "values": list(values)}


@pytest.mark.parametrize(
    ("spec", "machine", "fit"),
    [
        ({}, host(), True),
        ({"nodeName": "h2"}, host(), False),
        ({"nodeSelector": {"a": "b"}}, host(labels={"a": "b"}), True),
        ({"nodeSelector": {"a": "b"}}, host(labels={"a": "c"}), False),
        (required(expression("In", "8", "9")), host(labels={"size": "8"}), True),
        (required(expression("NotIn", "8")), host(), True),
        (required(expression("Exists")), host(), False),
        (required(expression("DoesNotExist")), host(), True),
        (required(expression("Gt", "7")), host(labels={"size": "8"}), True),
        (required(expression("Lt", "7")), host(labels={"size": "8"}), False),
        (required(expression("Gt", "7")), host(labels={"size": "big"}), False),
        (required(fields=(expression("In", "h1", key="metadata.name"),)), host(), True),
        (required(fields=(expression("In", "h2", key="metadata.name"),)), host(), False),
        (required(), host(), False),
        ({}, host(taints=[GPUS]), False),
        ({"tolerations": [{"operator": "Exists"}]}, host(taints=[GPUS, EVICTS]), True),
        ({"tolerations": [{"key": "gpus", "value": "yes"}]}, host(taints=[GPUS]), True),
        ({"tolerations": [{"key": "gpus", "value": "no"}]}, host(taints=[GPUS]), False),
        (
            {"tolerations": [{"key": "gpus", "operator": "Exists", "effect": "NoSchedule"}]},
            host(taints=[EVICTS]),
            False,
        ),
        ({}, host(taints=[{"key": "soft", "effect": "PreferNoSchedule"}]), True),
    ],
)
def test_a_pod_fits_where_the_scheduler_would_put_it(spec: dict[str, Any], machine: Host, fit: bool) -> None:
    assert fits(spec, machine) is fit


def test_daemons_stay_where_new_ones_would_not_come() -> None:
    machines = [host("h1"), host("h2", taints=[GPUS]), host("h3", taints=[EVICTS])]

    assert eligible({}, machines, ()) == {"h1"}
    assert eligible({}, machines, {"h2", "h3"}) == {"h1", "h2"}


def test_a_daemon_comes_back_to_a_cordoned_node() -> None:
    assert eligible({}, [host(taints=[CORDONED], unschedulable=True)], ()) == {"h1"}


def test_the_wish_is_what_the_nodeset_says() -> None:
    strategy = {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 3}}
    wanted = wish(nodeset(replicas=7, updateStrategy=strategy), "new", None)

    assert (wanted.replicas, wanted.hosts, wanted.strategy, wanted.max_unavailable) == (
        7,
        None,
        "RollingUpdate",
        3,
    )
    assert wanted.prefix == "slurm-operator: "
    assert not wanted.deleting
    assert wish(nodeset({"deletionTimestamp": "2026-01-01T00:00:00Z"}), "new", None).deleting


def test_maintenance_is_that_of_our_own_reservation() -> None:
    held = wish(nodeset(), "new", None).under_maintenance
    reserved = {"MAINTENANCE": "SlurmOperatorMaint-gpu", "IDLE": "SlurmOperatorMaint-gpu"}
    workers = [_worker(0, node("gpu-0", state, reservation=name)) for state, name in reserved.items()]
    foreign = _worker(0, node("gpu-0", "MAINTENANCE", reservation="cooling"))

    assert [held(each) for each in (*workers, foreign)] == [True, False, False]


def _worker(ordinal: int, slurm: Any = None, **facts: Any) -> Worker:
    name = f"gpu-{ordinal}"
    usual: dict[str, Any] = {"revision": "new", "host": f"h{ordinal}", "slurm": slurm or node(name)}
    return Worker(pod=name, slurm_name=name, slot=ordinal, **(usual | facts))


def _daemon(name: str, **facts: Any) -> Worker:
    return Worker(pod=name, slurm_name=name, slot=name, host="h9", slurm=node(name), **facts)


def test_workers_of_the_other_mode_stay_until_all_of_this_mode_are_there() -> None:
    wanted = wish(nodeset(replicas=2), "new", None)
    early = decide(wanted, [_worker(0)], [_daemon("gpu-x")])
    late = decide(wanted, [_worker(0), _worker(1)], [_daemon("gpu-x")])

    assert (early.create, early.mark) == ((1,), {})
    assert (late.create, late.mark) == ((), {"gpu-x": Cause.SCALE_IN})
    assert [each.slurm_name for each in late.drain] == ["gpu-x"]
    assert late.delete == ()


def test_a_worker_of_the_other_mode_that_leaves_goes_on_leaving() -> None:
    wanted = wish(nodeset(replicas=2), "new", None)
    leaving = _daemon("gpu-x", leaving=Cause.SCALE_IN)

    assert [wait.pod for wait in decide(wanted, [_worker(0)], [leaving]).waits] == ["gpu-x"]


def test_workers_of_both_modes_go_with_their_nodeset() -> None:
    wanted = wish(nodeset({"deletionTimestamp": "2026-01-01T00:00:00Z"}), "new", None)
    steps = decide(wanted, [_worker(0)], [_daemon("gpu-x")])

    assert steps.mark == {"gpu-0": Cause.DELETION, "gpu-x": Cause.DELETION}
    assert steps.create == ()


def test_pins_hold_while_their_node_fits() -> None:
    hosts = {name: host(name, labels={"a": "b"}) for name in ("h0", "h1", "h5")} | {"h6": host("h6")}
    before = {"0": "h5", "3": "h6", "4": "gone", "7": "h1"}
    workers = [_worker(0), _worker(1), _worker(2, phase="Pending")]

    assert renewed(before, {"nodeSelector": {"a": "b"}}, hosts, workers) == {"0": "h5", "1": "h1", "7": "h1"}
