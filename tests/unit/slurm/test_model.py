"""Nodes and jobs: what real answers of every version mean, and that doubt means busy."""

import math

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slurmery.slurm import answers
from slurmery.slurm.errors import GarbledError
from slurmery.slurm.model import Job, MaybeNumber, Node, Number, limit, moment, node_facts, value
from slurmery.slurmconf import tres
from tests.unit.slurm.recordings import RELEASES, recording

STATES = [
    "INVALID", "UNKNOWN", "DOWN", "IDLE", "ALLOCATED", "ERROR", "MIXED", "FUTURE", "EXTERNAL",
    "RESERVED", "UNDRAIN", "CLOUD", "RESUME", "DRAIN", "COMPLETING", "NOT_RESPONDING", "POWERED_DOWN",
    "FAIL", "POWERING_UP", "MAINTENANCE", "REBOOT_REQUESTED", "PLANNED", "INVALID_REG", "POWER_DOWN",
    "DYNAMIC_NORM", "BLOCKED", "SOMETHING_NEW",
]  # fmt: skip


def nodes(release: str, version: str) -> dict[str, Node]:
    answer = answers.read(200, recording(release, version, "nodes"), answers.NodesAnswer)
    assert isinstance(answer.items, tuple)
    return {node.name: node for node in answer.items}


def jobs(release: str, version: str) -> dict[str, Job]:
    answer = answers.read(200, recording(release, version, "jobs"), answers.JobsAnswer)
    assert isinstance(answer.items, tuple)
    return {job.name: job for job in answer.items}


@pytest.mark.parametrize(("release", "version"), RELEASES)
def test_a_node_reads_the_same_in_every_version(release: str, version: str) -> None:
    n0, n1 = nodes(release, version).values()
    assert (n0.name, n0.state, n0.base_state, n0.is_busy) == ("n0", ("MIXED",), "MIXED", True)
    assert (n0.address, n0.hostname, n0.partitions, n0.features) == ("127.0.0.1", "ctl", ("all",), ("base",))
    assert (n0.cpus, n0.alloc_cpus, n0.alloc_memory, n0.real_memory) == (4, 1, 100, 4000)
    assert tres.parse(n0.tres).gpu_types == {"h200": 8}
    assert tres.parse(n0.tres_used).gpus == 2
    assert n0.version.startswith(release)
    assert n0.slurmd_start_time is not None
    assert n0.free_mem is not None
    assert (n0.reason, n0.reason_changed_at) == ("", None)
    assert n1.reason == "slurmery: scale in"
    assert n1.reason_changed_at is not None


@pytest.mark.parametrize(("release", "version"), RELEASES)
def test_a_node_with_a_suspended_job_is_not_drained(release: str, version: str) -> None:
    n1 = nodes(release, version)["n1"]
    assert n1.has_drain
    assert n1.is_busy
    assert not n1.is_drained
    # Asked for alone, slurmctld calls such a node idle; its memory gives it away.
    alone = msgspec.structs.replace(n1, state=("IDLE", "DRAIN"))
    assert alone.is_busy
    assert not alone.is_drained


@pytest.mark.parametrize(("release", "version"), RELEASES)
def test_jobs_read_the_same_in_every_version(release: str, version: str) -> None:
    found = jobs(release, version)
    assert set(found) == {"done", "train", "frozen", "sweep", "caf\N{REPLACEMENT CHARACTER}"}

    train = found["train"]
    assert (train.state, train.is_running, train.nodes, train.node_names) == ("RUNNING", True, "n0", ("n0",))
    assert (train.user_name, train.user_id, train.partition) == ("root", 0, "all")
    assert (train.time_limit, train.node_count, train.cpus) == (60, 1, 1)
    assert train.start_time is not None
    assert train.end_time == train.start_time + 3600
    assert tres.parse(train.tres_alloc_str).gpus == 2
    assert (train.mail_user, train.comment) == ("a@b.c", "hello")
    assert train.holds_nodes

    frozen = found["frozen"]
    assert (frozen.is_suspended, frozen.is_running, frozen.holds_nodes) == (True, False, True)

    sweep = found["sweep"]
    assert (sweep.is_pending, sweep.state_reason, sweep.holds_nodes) == (True, "JobHeldUser", False)
    assert (sweep.time_limit, sweep.array_job_id, sweep.array_task_string) == (math.inf, sweep.job_id, "1-3")

    done = found["done"]
    assert (done.state, done.is_finished, done.holds_nodes) == ("COMPLETED", True, False)
    assert (done.array_job_id, done.array_task_id) == (None, None)


@pytest.mark.parametrize(
    ("state", "busy", "idle", "drained", "down"),
    [
        ("IDLE", False, True, False, False),
        ("IDLE DRAIN", False, True, True, False),
        ("IDLE DRAIN NOT_RESPONDING", False, True, True, False),
        ("DOWN", False, False, False, True),
        ("DOWN DRAIN", False, False, True, True),
        ("FUTURE", False, False, False, False),
        ("ALLOCATED", True, False, False, False),
        ("ALLOCATED DRAIN", True, False, False, False),
        ("MIXED DRAIN", True, False, False, False),
        ("IDLE DRAIN COMPLETING", True, False, False, False),
        ("DOWN DRAIN COMPLETING", True, False, False, True),
        ("IDLE DRAIN UNDRAIN", False, True, False, False),
        ("UNKNOWN DRAIN", True, False, False, False),
        ("ERROR DRAIN", True, False, False, False),
        ("INVALID DRAIN", True, False, False, False),
        ("DRAIN", True, False, False, False),
        ("SOMETHING_NEW DRAIN", True, False, False, False),
        ("", True, False, False, False),
    ],
)
def test_what_a_state_means(state: str, busy: bool, idle: bool, drained: bool, down: bool) -> None:
    node = Node(name="n", state=tuple(state.split()))
    assert (node.is_busy, node.is_idle, node.is_drained, node.is_down) == (busy, idle, drained, down)


@settings(deadline=None)
@given(st.sets(st.sampled_from(STATES)), st.sampled_from([0, 1]), st.sampled_from([0, 1]))
def test_nothing_that_may_hold_a_job_is_drained(states: set[str], cpus: int, memory: int) -> None:
    node = Node(name="n", state=tuple(states), alloc_cpus=cpus, alloc_memory=memory)
    if node.is_drained:
        assert "DRAIN" in states
        assert states & {"IDLE", "DOWN", "FUTURE"}
        assert not states & {"ALLOCATED", "MIXED", "COMPLETING", "UNKNOWN", "ERROR", "INVALID", "UNDRAIN"}
        assert not cpus
        assert not memory


def test_a_drain_belongs_to_whoever_the_reason_starts_with() -> None:
    ours = Node(name="n", state=("IDLE", "DRAIN"), reason="slurm-operator: scale in")
    admins = Node(name="n", state=("IDLE", "DRAIN"), reason="bad disk, not slurm-operator: at all")
    idle = Node(name="n", state=("IDLE",), reason="slurm-operator: scale in")
    prefixes = ["", "[node_problem]", "slurm-operator:"]
    assert ours.drain_owner(prefixes) == "slurm-operator:"
    assert admins.drain_owner(prefixes) is None
    assert idle.drain_owner(prefixes) is None


def test_load_alone_does_not_make_a_node_worth_another_look() -> None:
    calm = Node(name="n", state=("IDLE",), raw_free_mem=5, raw_last_busy=1)
    assert node_facts(calm) == node_facts(msgspec.structs.replace(calm, raw_free_mem=7, raw_last_busy=2))
    assert node_facts(calm) != node_facts(msgspec.structs.replace(calm, state=("MIXED",)))


@pytest.mark.parametrize(
    ("raw", "number", "seconds", "bound"),
    [
        (Number(number=5), 5, 5, 5.0),
        (Number(set=False, number=5), None, None, None),
        (Number(set=False, infinite=True), None, None, math.inf),
        (Number(number=0), 0, None, 0.0),
        (7, 7, 7, 7.0),
        (2.5, 2, 2, 2.5),
        (0xFFFFFFFE, 0xFFFFFFFE, None, 0xFFFFFFFE),
        (None, None, None, None),
    ],
)
def test_numbers_may_be_wrapped_plain_unset_or_infinite(
    raw: MaybeNumber, number: int | None, seconds: int | None, bound: float | None
) -> None:
    assert (value(raw), moment(raw), limit(raw)) == (number, seconds, bound)


def test_a_job_that_cleans_up_holds_its_nodes() -> None:
    assert Job(job_id=1, job_state=("COMPLETED", "COMPLETING"), nodes="n1").holds_nodes
    assert Job(job_id=1, job_state=("RUNNING", "CONFIGURING"), nodes="n1").holds_nodes
    assert not Job(job_id=1, job_state=("CANCELLED",), nodes="n1").holds_nodes


def test_unreadable_node_lists_are_garbled_not_a_crash() -> None:
    with pytest.raises(GarbledError, match="job 9"):
        _ = Job(job_id=9, nodes="n[1-99999999]").node_names
