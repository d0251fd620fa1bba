"""Partitions appear at once, and go when no job names them any more."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slurmery.slinky.controller.partitions import Partitions, plan
from tests.unit.slinky.clusters import nodeset

UP = {"enabled": True, "config": "State=UP"}
GPU_IN_FORCE = "NodeSet=gpu Feature=gpu\nPartitionName=gpu Nodes=gpu State=UP Default=YES MaxTime=60\n"
GPU_CLOSED = ("NodeSet=gpu Feature=gpu", "PartitionName=gpu Nodes=gpu MaxTime=60 State=DRAIN")


def test_lines_are_sorted_and_only_wanted_partitions_are_there() -> None:
    nodesets = [nodeset("b", partition=UP), nodeset("a"), nodeset("c", partition={"enabled": True})]
    assert plan(nodesets, "", "", frozenset()).lines == (
        "NodeSet=a Feature=a",
        "NodeSet=b Feature=b",
        "PartitionName=b Nodes=b State=UP",
        "NodeSet=c Feature=c",
        "PartitionName=c Nodes=c",
    )


def test_a_nodeset_is_called_by_its_host_names() -> None:
    named = nodeset("worker-gpu", template={"spec": {"hostname": "gpu-"}}, partition=UP)
    assert plan([named], "", "", frozenset()).lines == (
        "NodeSet=gpu Feature=gpu",
        "PartitionName=gpu Nodes=gpu State=UP",
    )


def test_two_nodesets_of_one_name_share_it_but_not_a_partition() -> None:
    template = {"spec": {"hostname": "gpu-"}}
    both = [nodeset("a", template=template, partition=UP), nodeset("b", template=template, partition=UP)]
    planned = plan(both, "", "", frozenset())
    assert planned.lines == ("NodeSet=gpu Feature=gpu", "PartitionName=gpu Nodes=gpu State=UP")
    assert [problem.message for problem in planned.problems] == [
        "NodeSet b is left out or as it was in slurm.conf: NodeSet a has a partition gpu already."
    ]


@pytest.mark.parametrize(
    "options",
    [
        "just words",
        "State=UP MaxTime",
        "State=UP\\",
        "State=UP #x",
        "a=b\tc=d\x00",
        'a="b',
        "PartitionName=x",
    ],
)
def test_bad_options_harm_their_own_partition_only(options: str) -> None:
    bad = nodeset("a", partition={"enabled": True, "config": options})
    planned = plan([bad, nodeset("b", partition=UP)], "", "", frozenset())
    assert planned.lines == (
        "NodeSet=a Feature=a",
        "NodeSet=b Feature=b",
        "PartitionName=b Nodes=b State=UP",
    )
    assert planned.problems[0].reason == "NodeSetRefused"


def test_bad_options_leave_a_partition_as_it_is() -> None:
    bad = nodeset("gpu", partition={"enabled": True, "config": "oops"})
    assert plan([bad], "", GPU_IN_FORCE, frozenset()).lines == tuple(GPU_IN_FORCE.splitlines())


@pytest.mark.parametrize("options", ["State=UP", "  State=UP  MaxTime=1-0 ", 'AllowGroups="a b" State=UP'])
def test_good_options_are_taken_as_they_are(options: str) -> None:
    planned = plan([nodeset("a", partition={"enabled": True, "config": options})], "", "", frozenset())
    assert planned.lines[1] == f"PartitionName=a Nodes=a {options.strip()}"
    assert not planned.problems


@pytest.mark.parametrize("jobs", [frozenset({"gpu", "cpu"}), None])
def test_a_partition_that_jobs_may_name_stays_closed_to_new_ones(jobs: frozenset[str] | None) -> None:
    planned = plan([], "", GPU_IN_FORCE, jobs)
    assert planned == Partitions(GPU_CLOSED, waiting=("gpu",))
    again = plan([], "", "\n".join(planned.lines), jobs)
    assert again == planned


def test_a_partition_that_no_job_names_goes() -> None:
    assert plan([], "", GPU_IN_FORCE, frozenset({"cpu"})) == Partitions(())


def test_a_partition_that_is_wanted_again_opens_again() -> None:
    closed = "\n".join(GPU_CLOSED)
    assert plan([nodeset("gpu", partition=UP)], "", closed, None) == Partitions(
        ("NodeSet=gpu Feature=gpu", "PartitionName=gpu Nodes=gpu State=UP")
    )


def test_partitions_of_extra_conf_are_looked_after_too() -> None:
    before = "PartitionName=DEFAULT State=UP\nPartitionName=all Nodes=ALL\nPartitionName=big Nodes=gpu,cpu\n"
    big, every = "PartitionName=big Nodes=gpu,cpu State=DRAIN", "PartitionName=all Nodes=ALL State=DRAIN"
    assert plan([], "", before, None).lines == (every, big)
    assert plan([], "PartitionName=all Nodes=ALL", before, frozenset({"all", "big"})).lines == (big,)
    assert plan([], before, before, None).lines == ()


def test_the_nodes_of_a_closed_partition_stay_known() -> None:
    before = GPU_IN_FORCE + "NodeSet=cpu Feature=cpu\n"
    assert plan([], "", before, None).lines == GPU_CLOSED
    assert plan([nodeset("gpu")], "", before, None).lines == GPU_CLOSED


@given(st.permutations(["a", "b", "c", "d"]))
def test_the_order_of_nodesets_does_not_matter(order: list[str]) -> None:
    some = [nodeset(name, partition=UP) for name in order]
    assert plan(some, "", "", None) == plan(sorted(some, key=lambda each: each.metadata.name), "", "", None)
