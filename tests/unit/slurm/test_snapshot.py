"""A snapshot never says more than Slurm said, nor longer than it may."""

import math

import pytest

from slurmery.slurm.errors import GarbledError
from slurmery.slurm.model import Job, Node, node_facts
from slurmery.slurm.snapshot import Changes, Part, Snapshot, View, difference

DRAINED = Node(name="n1", state=("IDLE", "DRAIN"))
FROZEN = Job(job_id=1, job_state=("SUSPENDED",), nodes="n[1-2]")
NOW = 100.0


def nodes(*members: Node, taken_at: float = NOW, error: str = "") -> View[str, Node]:
    return View({node.name: node for node in members}, taken_at, error)


def jobs(*members: Job) -> View[int, Job]:
    return View({job.job_id: job for job in members}, NOW, "")


def test_a_view_is_a_mapping_with_an_age() -> None:
    view = nodes(DRAINED, taken_at=90.0)
    assert dict(view) == {"n1": DRAINED}
    assert view.age(NOW) == 10.0
    assert view.fresh(NOW, 10.0)
    assert not view.fresh(NOW, 9.9)
    assert not nodes(DRAINED, error="slurmctld is gone").fresh(NOW, 1000.0)


def test_nothing_is_known_before_the_first_answer() -> None:
    empty = Snapshot()
    assert empty.nodes.age(NOW) == math.inf
    assert not empty.nodes.fresh(NOW, math.inf)
    assert not empty.is_drained("n1", NOW, math.inf)
    assert empty.jobs_on("n1") == ()


def test_drained_needs_a_fresh_and_successful_answer() -> None:
    assert Snapshot(nodes=nodes(DRAINED)).is_drained("n1", NOW, 5.0)
    assert not Snapshot(nodes=nodes(DRAINED)).is_drained("n2", NOW, 5.0)
    assert not Snapshot(nodes=nodes(DRAINED, taken_at=NOW - 6)).is_drained("n1", NOW, 5.0)
    assert not Snapshot(nodes=nodes(DRAINED, error="timeout")).is_drained("n1", NOW, 5.0)
    assert not Snapshot(nodes=nodes(Node(name="n1", state=("MIXED", "DRAIN")))).is_drained("n1", NOW, 5.0)


def test_a_suspended_job_keeps_its_nodes_from_being_drained() -> None:
    asked = frozenset({Part.NODES, Part.JOBS})
    members = nodes(DRAINED, Node(name="n3", state=("IDLE", "DRAIN")))
    snapshot = Snapshot(nodes=members, jobs=jobs(FROZEN), asked=asked)
    assert not snapshot.is_drained("n1", NOW, 5.0)
    assert snapshot.is_drained("n3", NOW, 5.0)
    assert not Snapshot(nodes=members, asked=asked).is_drained("n3", NOW, 5.0), "jobs were never answered"
    unreadable = Job(job_id=2, job_state=("SUSPENDED",), nodes="n[")
    assert not Snapshot(nodes=members, jobs=jobs(unreadable), asked=asked).is_drained("n3", NOW, 5.0)


def test_jobs_are_found_by_their_nodes() -> None:
    running = Job(job_id=2, job_state=("RUNNING",), nodes="n1")
    ended = Job(job_id=3, job_state=("COMPLETED",), nodes="n1")
    snapshot = Snapshot(jobs=jobs(FROZEN, running, ended))
    assert snapshot.jobs_on("n1") == (FROZEN, running)
    assert snapshot.jobs_on("n2") == (FROZEN,)
    assert snapshot.jobs_on("n3") == ()
    with pytest.raises(GarbledError):
        Snapshot(jobs=jobs(Job(job_id=1, job_state=("RUNNING",), nodes="n["))).jobs_on("n1")


def test_differences_are_what_matters_only() -> None:
    old = nodes(Node(name="a", state=("IDLE",)), Node(name="b", state=("IDLE",)), Node(name="c"))
    new = nodes(
        Node(name="a", state=("IDLE",), raw_free_mem=5), Node(name="b", state=("MIXED",)), Node(name="d")
    )
    changes = difference(Part.NODES, old, new, node_facts)
    assert changes == Changes(Part.NODES, frozenset({"d"}), frozenset({"b"}), frozenset({"c"}))
    assert changes.touched == {"b", "c", "d"}
    assert not difference(Part.NODES, new, new, node_facts).touched
