import msgspec
import pytest

from slurmery.health.storage.decide import PREFIX, Thresholds, decide
from slurmery.health.storage.program import limit
from slurmery.health.views import WorkerPod
from slurmery.health.words import Drain, Resume
from slurmery.slurm.model import Node

GIB = 1 << 30
USUAL = Thresholds()
IDLE = Node(name="worker-0", state=("IDLE",))
OURS = Node(name="worker-0", state=("IDLE", "DRAIN"), reason=f"{PREFIX}: more than 85%")
THEIRS = Node(name="worker-0", state=("IDLE", "DRAIN"), reason="bad fan, ana")


def test_a_full_worker_is_drained_with_the_prefix_that_says_whose_drain_it_is() -> None:
    verdict = decide(90 * GIB, 100 * GIB, IDLE, USUAL)
    assert verdict.word == Drain(
        "worker-0",
        f"{PREFIX}: more than 85% of 100 GiB used, delete files that jobs left outside shared storage,"
        " such as in /tmp; jobs come again below 80%",
    )
    assert verdict.warning == "It uses more than 85% of its ephemeral storage, 100 GiB."


@pytest.mark.parametrize("node", [IDLE, OURS, THEIRS])
def test_between_the_thresholds_nothing_changes(node: Node) -> None:
    for percent in (80, 82, 85):
        assert decide(percent * GIB, 100 * GIB, node, USUAL).word is None


def test_a_worker_with_room_again_gets_jobs_if_the_drain_was_ours() -> None:
    assert decide(79 * GIB, 100 * GIB, OURS, USUAL).word == Resume("worker-0", OURS.reason)
    assert decide(79 * GIB, 100 * GIB, THEIRS, USUAL).word is None
    assert decide(79 * GIB, 100 * GIB, IDLE, USUAL).word is None


@pytest.mark.parametrize("node", [OURS, THEIRS, None])
def test_a_full_worker_that_is_drained_or_unknown_is_only_warned_of(node: Node | None) -> None:
    verdict = decide(90 * GIB, 100 * GIB, node, USUAL)
    assert verdict.word is None
    assert verdict.warning


def test_the_limit_is_that_of_all_containers_together() -> None:
    def container(amount: str | None) -> object:
        return {"resources": {"limits": {"ephemeral-storage": amount}} if amount else {}}

    def pod(*amounts: str | None, init: str | None = None) -> WorkerPod:
        spec = {
            "containers": [container(each) for each in amounts],
            "initContainers": [container(init)],
        }
        return msgspec.convert({"metadata": {"name": "worker-0"}, "spec": spec}, WorkerPod)

    assert limit(pod("1Gi", None, "512Mi", init="512Mi")) == 2 * GIB
    assert limit(pod(None)) is None
