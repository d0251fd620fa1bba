import pytest

from slurmery.health.words import Drain, Resume, update
from slurmery.slurm.model import Node
from slurmery.slurm.requests import NodeUpdate

OURS = "[node_condition] KernelDeadlock"


def node(*state: str, reason: str = "") -> Node:
    return Node(name="worker-0", state=state, reason=reason)


def test_a_drain_is_undone_only_as_long_as_it_is_the_one_that_was_decided_about() -> None:
    word = Resume("worker-0", OURS)
    assert update(word, node("IDLE", "DRAIN", reason=OURS)) == NodeUpdate(state=("UNDRAIN",))
    assert update(word, node("IDLE", "DRAIN", reason="bad fan, ana")) is None
    assert update(word, node("IDLE", reason=OURS)) is None


def test_somebodys_drain_is_not_spoken_over() -> None:
    assert update(Drain("worker-0", OURS), node("IDLE", "DRAIN", reason="bad fan, ana")) is None


def test_somebodys_reason_stays_when_the_node_is_drained() -> None:
    word = Drain("worker-0", OURS)
    assert update(word, node("IDLE")) == NodeUpdate(state=("DRAIN",), reason=OURS)
    assert update(word, node("DOWN", reason="bad fan, ana")) == NodeUpdate(state=("DRAIN",))


@pytest.mark.parametrize("reason", ["Not responding", "Node unexpectedly rebooted", OURS])
def test_what_slurmctld_says_by_itself_and_what_is_left_of_a_drain_is_nobodys_reason(reason: str) -> None:
    wanted = NodeUpdate(state=("DRAIN",), reason=OURS)
    assert update(Drain("worker-0", OURS), node("DOWN", reason=reason)) == wanted
