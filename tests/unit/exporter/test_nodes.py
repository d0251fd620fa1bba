"""Nodes as metrics: names, labels and values as dashboards for Soperator know them."""

from itertools import chain

import pytest

from slurmery.exporter import nodes as subject
from slurmery.exporter.nodes import NodeLabels
from slurmery.exporter.outages import Outages
from slurmery.exporter.page import Block
from slurmery.exporter.scope import Generation, Scope
from slurmery.slurm.model import Node, Number
from tests.unit.exporter.parsed import names, nodes, of, one, parsed
from tests.unit.slurm.recordings import RELEASES

NODE_INFO_1_22 = {
    *(
        "node_name",
        "instance_id",
        "state_base",
        "state_is_drain",
        "state_is_maintenance",
        "state_is_reserved",
    ),
    *("address", "reason"),
}
NODE_INFO_5_0 = NODE_INFO_1_22 | {
    *(
        "state_is_completing",
        "state_is_fail",
        "state_is_planned",
        "state_is_not_responding",
        "state_is_invalid",
    ),
    *("state_is_cloud", "state_is_power_down", "state_is_power_drain", "state_is_powered_down"),
    *("state_is_powering_down", "state_is_powering_up", "state_is_power_up", "is_unavailable"),
    *("reservation_name", "comment"),
}
STATE = {"node_name", "state_base", "state_is_drain", "state_is_maintenance", "state_is_reserved"}
OLD = Scope(generation=Generation.V1_22)


async def present(*these: Node, scope: Scope | None = None) -> list[Block]:
    scope = scope or Scope()
    return await subject.present(these, NodeLabels(scope), scope)


async def past(*answers: tuple[Node, ...], scope: Scope | None = None) -> list[Block]:
    """What is told after these answers, ten seconds from each to the next."""
    labels = NodeLabels(scope or Scope())
    outages = Outages(labels.state, subject.gpus, reasons="reason" not in (scope or Scope()).absent_labels)
    for number, answer in enumerate(answers):
        await outages.update(answer, 1000.0 + 10 * number)
        outages.elapse(10.0)
    return [*await subject.past(outages), await subject.seconds(outages)]


@pytest.mark.parametrize(("scope", "labels"), [(Scope(), NODE_INFO_5_0), (OLD, NODE_INFO_1_22)])
async def test_node_info_has_the_labels_of_its_generation(scope: Scope, labels: set[str]) -> None:
    series = parsed(await present(*nodes(), scope=scope))

    assert all(set(found) == labels for found, _ in of(series, "slurm_node_info"))


async def test_the_old_generation_has_no_new_families() -> None:
    assert names(parsed(await present(*nodes(), scope=OLD))) == {
        "slurm_node_info",
        "slurm_cluster_nodes_total",
    }


@pytest.mark.parametrize(("release", "version"), RELEASES)
async def test_every_recorded_answer_shows_both_nodes(release: str, version: str) -> None:
    series = parsed(await present(*nodes(release, version)))

    assert one(series, "slurm_cluster_nodes_total") == 2
    assert one(series, "slurm_node_info", node_name="n0", state_base="MIXED", state_is_drain="false") == 1
    assert (
        one(series, "slurm_node_info", node_name="n1", state_is_drain="true", reason="slurmery: scale in")
        == 1
    )
    for node in nodes(release, version):
        amount = {name: one(series, f"slurm_node_{name}", node_name=node.name) for name in AMOUNTS}
        assert amount["cpus_total"] == amount["cpus_effective"] == 4
        assert amount["cpus_allocated"] + amount["cpus_idle"] == 4
        assert amount["memory_total_bytes"] == amount["memory_effective_bytes"] == 4000 * 2**20
        assert amount["memory_allocated_bytes"] == node.alloc_memory * 2**20
        assert amount["memory_free_bytes"] > 0
        assert one(series, "slurm_node_partition", node_name=node.name, partition="all") == 1


AMOUNTS = [
    *(f"cpus_{kind}" for kind in ("total", "allocated", "idle", "effective")),
    *(f"memory_{kind}_bytes" for kind in ("total", "allocated", "free", "effective")),
]


@pytest.mark.parametrize(
    ("state", "true"),
    [
        (("IDLE",), set[str]()),
        (("IDLE", "DRAIN"), {"state_is_drain", "is_unavailable"}),
        (("ALLOCATED", "DRAIN"), {"state_is_drain"}),
        (("MIXED", "MAINTENANCE", "RESERVED"), {"state_is_maintenance", "state_is_reserved"}),
        (("DOWN", "NOT_RESPONDING"), {"state_is_not_responding", "is_unavailable"}),
        (("IDLE", "CLOUD", "POWERED_DOWN"), {"state_is_cloud", "state_is_powered_down"}),
        (("IDLE", "POWERING_UP", "POWER_UP"), {"state_is_powering_up", "state_is_power_up"}),
        (("IDLE", "POWERING_DOWN", "POWER_DOWN"), {"state_is_powering_down", "state_is_power_down"}),
        (("IDLE", "POWER_DRAIN", "PLANNED"), {"state_is_power_drain", "state_is_planned"}),
        (("IDLE", "FAIL", "COMPLETING"), {"state_is_fail", "state_is_completing"}),
        (("IDLE", "INVALID_REG"), {"state_is_invalid"}),
    ],
)
async def test_states_become_labels(state: tuple[str, ...], true: set[str]) -> None:
    series = parsed(await present(Node(name="n0", state=state)))

    [(labels, _)] = of(series, "slurm_node_info")
    assert {name for name, value in labels.items() if value == "true"} == true
    assert labels["state_base"] == state[0]


async def test_memory_is_free_on_a_node_that_never_ran() -> None:
    cloud = Node(name="n0", real_memory=4000, alloc_memory=1000)
    running = Node(name="n1", real_memory=4000, alloc_memory=1000, raw_free_mem=Number(number=500))
    series = parsed(await present(cloud, running))

    assert one(series, "slurm_node_memory_free_bytes", node_name="n0") == 3000 * 2**20
    assert one(series, "slurm_node_memory_free_bytes", node_name="n1") == 500 * 2**20


async def test_memory_set_aside_for_the_system_is_not_effective() -> None:
    series = parsed(await present(Node(name="n0", real_memory=4000, specialized_memory=1000)))

    assert one(series, "slurm_node_memory_effective_bytes") == 3000 * 2**20


async def test_long_reservation_names_are_cut() -> None:
    [(labels, _)] = of(parsed(await present(Node(name="n0", reservation="r" * 99))), "slurm_node_info")

    assert labels["reservation_name"] == "r" * 50


async def test_labels_can_be_left_out() -> None:
    scope = Scope(omitted_labels=frozenset({"reason", "comment"}))

    [(labels, _)] = of(parsed(await present(Node(name="n0", reason="x"), scope=scope)), "slurm_node_info")

    assert set(labels) == NODE_INFO_5_0 - {"reason", "comment"}


@pytest.mark.parametrize(
    ("topology", "group"), [("", None), ("default:b7", "b7"), ("tree:s1:s2,block:b1", "s2"), ("b3", "b3")]
)
async def test_the_innermost_unit_of_the_topology_is_the_group(topology: str, group: str | None) -> None:
    series = parsed(await present(Node(name="n0", topology=topology)))

    groups = [labels["nvlink_instance_group"] for labels, _ in of(series, "slurm_node_nvlink_instance_group")]
    assert groups == ([group] if group else [])


@pytest.mark.parametrize(
    ("name", "nodeset"), [("worker-gpu-12", "worker-gpu"), ("worker-3", "worker"), ("n0", ""), ("login", "")]
)
def test_workers_are_called_after_their_nodeset(name: str, nodeset: str) -> None:
    assert subject.nodeset(name) == nodeset


async def test_gpu_seconds_are_time_times_gpus() -> None:
    busy = Node(name="n1", state=("ALLOCATED",), tres="cpu=2,gres/gpu=2")
    drained = Node(name="n2", state=("IDLE", "DRAIN"), tres="cpu=2,gres/gpu=1,gres/gpu:h200=1")
    series = parsed(await past((busy, drained)))

    assert one(series, "slurm_node_gpu_seconds_total", node_name="n1", state_base="ALLOCATED") == 20
    assert one(series, "slurm_node_gpu_seconds_total", node_name="n2", state_is_drain="true") == 10
    assert all(set(labels) == STATE for labels, _ in of(series, "slurm_node_gpu_seconds_total"))


async def test_gpu_seconds_of_an_earlier_state_stay() -> None:
    idle, busy = (Node(name="n1", state=(state,), tres="gres/gpu=8") for state in ("IDLE", "ALLOCATED"))
    series = parsed(await past((idle,), (busy,), (busy,)))

    assert one(series, "slurm_node_gpu_seconds_total", state_base="IDLE") == 80
    assert one(series, "slurm_node_gpu_seconds_total", state_base="ALLOCATED") == 160


@pytest.mark.parametrize(
    ("tracked", "gres", "count"),
    [
        ("cpu=2,gres/gpu=8,gres/gpu:h200=8", "gpu:h200:8", 8),
        ("cpu=2", "gpu:h200:8(S:0-1)", 8),
        ("cpu=2", "gpu:2,gpu:a100:4,tmpdisk:100", 6),
        ("cpu=2", "", 0),
        ("cpu=2", "gpudirect:7", 0),
    ],
)
def test_gpus_are_known_with_and_without_accounting(tracked: str, gres: str, count: int) -> None:
    assert subject.gpus(Node(name="n1", tres=tracked, gres=gres)) == count


async def test_resources_that_cannot_be_read_count_as_no_gpus() -> None:
    series = parsed(await past((Node(name="n1", tres="gres/gpu=many"),)))

    assert one(series, "slurm_node_gpu_seconds_total") == 0


async def test_a_drain_counts_as_a_failure_with_its_reason() -> None:
    fine = Node(name="n1", state=("IDLE",))
    failed = Node(name="n1", state=("IDLE", "DRAIN"), reason="bad GPU")
    series = parsed(await past((fine,), (failed,), (failed,)))

    [(labels, value)] = of(series, "slurm_node_fails_total")
    assert value == 1
    assert set(labels) == STATE | {"reason"}
    assert (labels["reason"], labels["state_is_drain"]) == ("bad GPU", "true")


async def test_failures_can_do_without_reasons() -> None:
    fine, failed = Node(name="n1", state=("IDLE",)), Node(name="n1", state=("DOWN",), reason="x")
    scope = Scope(omitted_labels=frozenset({"reason"}))

    [(labels, _)] = of(parsed(await past((fine,), (failed,), scope=scope)), "slurm_node_fails_total")

    assert set(labels) == STATE


async def test_the_reasons_of_one_node_are_bounded() -> None:
    fine = Node(name="n1", state=("IDLE",))
    ups_and_downs = (
        ((fine,), (Node(name="n1", state=("DOWN",), reason=f"reason {number}"),)) for number in range(50)
    )
    series = parsed(await past(*chain.from_iterable(ups_and_downs)))

    reasons = {labels["reason"] for labels, _ in of(series, "slurm_node_fails_total")}
    assert reasons == {f"reason {number}" for number in range(34, 50)}


async def test_an_outage_becomes_a_histogram() -> None:
    down, fine = Node(name="n1", state=("DOWN",)), Node(name="n1", state=("IDLE",))
    name = "slurm_node_unavailability_duration_seconds"
    series = parsed(await past((fine,), *[(down,)] * 5, (fine,)))

    buckets = {labels["le"]: value for labels, value in of(series, f"{name}_bucket")}
    assert " ".join(buckets) == (
        "30 60 300 600 1800 3600 7200 14400 28800 43200 86400 172800 259200 604800 1209600 2592000 +Inf"
    )
    assert list(buckets.values()) == [0, *[1] * 16]
    assert one(series, f"{name}_sum", node_name="n1") == 50
    assert one(series, f"{name}_count", node_name="n1") == 1


async def test_the_series_of_a_node_vanish_with_it() -> None:
    here = Node(name="n1", state=("IDLE",), tres="gres/gpu=8", partitions=("all",))
    down = Node(name="n2", state=("DOWN",), tres="gres/gpu=8")
    back = Node(name="n2", state=("IDLE",), tres="gres/gpu=8")
    series = parsed(await past((here, back), (here, down), (here, back), (here,)))

    assert {dict(labels).get("node_name") for _, labels in series} == {"n1"}
