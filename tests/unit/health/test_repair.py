import dataclasses
from typing import TypeGuard

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slurmery.health.ref import Ref
from slurmery.health.repair import policy as names
from slurmery.health.repair.decide import condition_words, decide, held
from slurmery.health.repair.model import (
    Action,
    Condition,
    DeleteMachine,
    DrainWorker,
    Machine,
    ResumeWorker,
    SetCondition,
    Worker,
)
from slurmery.health.repair.policy import Policy, Response
from slurmery.kube.meta import Key
from slurmery.nebius.kinds import SLURM_CLUSTERS

ORION = Ref(SLURM_CLUSTERS, Key("orion", "orion"))
NOW = 10_000.0
POLICY = Policy()


def machine(**conditions: Condition) -> Machine:
    return Machine("gpu-7", created=100.0, conditions={"Ready": Condition("True"), **conditions}, labels={})


def worker(**changes: object) -> Worker:
    idle = Worker(ORION, "worker-3", known=True, busy=False)
    return dataclasses.replace(idle, **changes)  # type: ignore[arg-type]


def drained(reason: str, since: float = 5_000.0, **changes: object) -> Worker:
    return worker(**{"drains": True, "drained": True, "reason": reason, "reason_since": since, **changes})


def resumed(*workers: Worker) -> tuple[ResumeWorker, ...]:
    return tuple(ResumeWorker(each.cluster, each.name, each.reason) for each in workers)


def is_mark(action: Action) -> TypeGuard[SetCondition]:
    return isinstance(action, SetCondition)


TRUE = Condition("True", since=4_000.0)
ON_ITS_WAY = {"MaintenanceScheduled": TRUE, names.MAINTENANCE: TRUE}


def test_a_scheduled_maintenance_drains_the_workers_first() -> None:
    verdict = decide(machine(MaintenanceScheduled=TRUE), (worker(busy=True),), POLICY, 0, NOW)
    assert verdict.actions == (DrainWorker(ORION, "worker-3", names.REPLACEMENT_REASON),)


def test_running_jobs_are_waited_for_in_words() -> None:
    busy = drained(names.REPLACEMENT_REASON, drained=False, busy=True)
    verdict = decide(machine(MaintenanceScheduled=TRUE), (busy,), POLICY, 0, NOW)
    assert not verdict.actions
    assert verdict.waits == "Jobs run on worker-3: they are waited for."


def test_the_replacement_goes_step_by_step_to_the_deletion() -> None:
    done = (drained(names.REPLACEMENT_REASON),)
    first = decide(machine(MaintenanceScheduled=TRUE), done, POLICY, 0, NOW)
    assert [each[:3] for each in first.actions] == [(names.MAINTENANCE, "True", names.DRAINING)]
    second = decide(machine(**ON_ITS_WAY), done, POLICY, 0, NOW)
    assert [each[:3] for each in second.actions] == [(names.DRAIN, "True", names.NEED_DRAIN)]
    third = {**ON_ITS_WAY, names.DRAIN: Condition("True", names.DRAINING)}
    assert decide(machine(**third), done, POLICY, 0, NOW).waits.startswith("The rebooter")
    last = {**ON_ITS_WAY, names.DRAIN: Condition("True", names.DRAINED)}
    (deletion,) = decide(machine(**last), (), POLICY, 0, NOW).actions
    assert isinstance(deletion, DeleteMachine)


def test_a_node_without_workers_is_none_of_our_business() -> None:
    assert not decide(machine(MaintenanceScheduled=TRUE), (), POLICY, 0, NOW).actions


def test_the_budget_holds_the_next_node_back() -> None:
    verdict = decide(machine(**ON_ITS_WAY), (drained(names.REPLACEMENT_REASON),), POLICY, 1, NOW)
    assert not verdict.actions
    assert verdict.waits == "1 others are away for repair, 1 may be at once."


def test_a_worker_on_its_new_machine_is_resumed_and_an_admins_is_not() -> None:
    ours, theirs = drained(names.REPLACEMENT_REASON), drained("bad fan, ana", name="worker-4")
    assert decide(machine(), (ours, theirs), POLICY, 0, NOW).actions == resumed(ours)


def test_a_kill_that_failed_leads_to_a_reboot_and_back() -> None:
    stuck, other = drained("Kill task failed: job 7"), worker(name="worker-4")
    first = decide(machine(), (stuck, other), POLICY, 0, NOW)
    assert first.actions == (DrainWorker(ORION, "worker-4", names.REBOOT_REASON),)
    both = (stuck, drained(names.REBOOT_REASON, name="worker-4"))
    (degraded,) = decide(machine(), both, POLICY, 0, NOW).actions
    assert isinstance(degraded, SetCondition)
    assert degraded[:3] == (names.DEGRADED, "True", names.NEED_REBOOT)
    asked = machine(**{names.DEGRADED: Condition("True", since=6_000.0)})
    (reboot,) = decide(asked, both, POLICY, 0, NOW).actions
    assert reboot[:3] == (names.REBOOT, "True", names.NEED_REBOOT)
    rebooted = machine(
        **{names.DEGRADED: TRUE, names.REBOOT: Condition("True", names.REBOOTED), names.DRAIN: TRUE}
    )
    over = decide(rebooted, (), POLICY, 0, NOW).actions
    assert {each[:2] for each in over} == {
        (kind, "False") for kind in (names.REBOOT, names.DRAIN, names.DEGRADED)
    }
    after = machine(**{names.DEGRADED: Condition("False", names.REBOOTED, since=7_000.0)})
    assert decide(after, both, POLICY, 0, NOW).actions == resumed(*both)


def test_whoever_dies_while_a_reboot_is_declared_over_asks_for_no_second_one() -> None:
    reboots = Policy(conditions={"KernelDeadlock": Response.REBOOT})
    there = (drained("[node_condition] KernelDeadlock"),)
    said = {
        "KernelDeadlock": TRUE,
        names.DEGRADED: TRUE,
        names.DRAIN: TRUE,
        names.REBOOT: Condition("True", names.REBOOTED, since=6_000.0),
    }
    over = decide(machine(**said), there, reboots, 0, NOW).actions
    for written in range(len(over) + 1):
        ended = {each.type: Condition("False", since=7_000.0) for each in over[:written] if is_mark(each)}
        again = decide(machine(**{**said, **ended}), there, reboots, 0, NOW).actions
        assert all(is_mark(each) and each.status == "False" for each in again), written


def test_a_failed_health_check_marks_the_machine_once_its_jobs_are_done() -> None:
    reason = "[node_problem] gpu_health: GPU 3: XID 79 [hc_program]"
    verdict = decide(machine(), (drained(reason),), POLICY, 0, NOW)
    assert verdict.actions == (
        SetCondition(names.HARDWARE, "True", "gpuHealth", "GPU 3: XID 79 [hc_program]"),
    )
    off = dataclasses.replace(POLICY, replaces=False)
    assert not decide(machine(), (drained(reason),), off, 0, NOW).actions


def test_a_health_drain_older_than_the_machine_is_over() -> None:
    old = drained("[node_problem] gpu_health: XID 79", since=50.0)
    assert decide(machine(), (old,), POLICY, 0, NOW).actions == resumed(old)


def test_a_health_drain_older_than_the_pods_place_is_over() -> None:
    moved = drained("[hardware_problem] gpu_health: XID 79", placed_since=5_001.0)
    stayed = drained("[hardware_problem] gpu_health: XID 79", placed_since=4_999.0)
    assert decide(machine(), (moved,), POLICY, 0, NOW).actions == resumed(moved)
    (mark,) = decide(machine(), (stayed,), POLICY, 0, NOW).actions
    assert isinstance(mark, SetCondition)


def test_a_condition_of_another_vendor_may_only_drain_and_is_undone_when_it_passes() -> None:
    drains = Policy(conditions={"KernelDeadlock": Response.DRAIN})
    (drain,) = decide(machine(KernelDeadlock=TRUE), (worker(),), drains, 0, NOW).actions
    assert drain == DrainWorker(ORION, "worker-3", "[node_condition] KernelDeadlock")
    there = drained("[node_condition] KernelDeadlock")
    assert not decide(machine(KernelDeadlock=TRUE), (there,), drains, 0, NOW).actions
    assert decide(machine(), (there,), drains, 0, NOW).actions == resumed(there)


def test_a_condition_that_is_false_in_trouble_is_a_sign_as_well() -> None:
    reboots = Policy(conditions={"KernelReady=False": Response.REBOOT})
    false, unknown = Condition("False", since=4_000.0), Condition("Unknown", since=4_000.0)
    (drain,) = decide(machine(KernelReady=false), (worker(),), reboots, 0, NOW).actions
    assert drain == DrainWorker(ORION, "worker-3", "[node_condition] KernelReady=False")
    there = drained("[node_condition] KernelReady=False")
    (degraded,) = decide(machine(KernelReady=false), (there,), reboots, 0, NOW).actions
    assert degraded == SetCondition(names.DEGRADED, "True", names.NEED_REBOOT, "KernelReady is False.")
    for well in (machine(KernelReady=TRUE), machine(KernelReady=unknown), machine()):
        assert not decide(well, (worker(),), reboots, 0, NOW).actions
        assert decide(well, (there,), reboots, 0, NOW).actions == resumed(there)


def test_a_silent_machine_goes_only_if_wanted_and_when_its_workers_are_drained() -> None:
    silent = machine(Ready=Condition("Unknown", since=NOW - 1_000))
    wanted = dataclasses.replace(POLICY, deletes_not_ready=True)
    assert not decide(silent, (worker(),), POLICY, 0, NOW).actions
    assert not decide(silent, (worker(known=False),), wanted, 0, NOW).actions
    drain = DrainWorker(ORION, "worker-3", names.NOT_READY_REASON)
    assert decide(silent, (worker(busy=True),), wanted, 0, NOW).actions == (drain,)
    busy = drained(names.NOT_READY_REASON, drained=False, busy=True)
    assert not decide(silent, (busy,), wanted, 0, NOW).actions
    gone = drained(names.NOT_READY_REASON)
    assert not decide(silent, (gone,), wanted, 1, NOW).actions
    (deletion,) = decide(silent, (gone,), wanted, 0, NOW).actions
    assert isinstance(deletion, DeleteMachine)
    assert decide(machine(), (gone,), wanted, 0, NOW).actions == resumed(gone)
    soon = machine(Ready=Condition("Unknown", since=NOW - 800))
    assert decide(soon, (worker(),), wanted, 0, NOW).again == 100.0


def test_no_job_comes_back_while_a_repairer_has_the_machine_in_hand() -> None:
    ours = (drained(names.REPLACEMENT_REASON),)
    evicting = machine(**{names.MAINTENANCE: TRUE, names.DRAIN: Condition("True", names.DRAINING)})
    over = decide(evicting, ours, POLICY, 0, NOW).actions
    assert [each[:2] for each in over] == [(names.DRAIN, "False"), (names.MAINTENANCE, "False")]
    cordoned = dataclasses.replace(machine(), cordoned=True)
    verdict = decide(cordoned, ours, POLICY, 0, NOW)
    assert not verdict.actions
    assert verdict.waits == "It is cordoned: its workers stay drained until it is not."


def test_a_condition_may_ask_for_one_reboot_and_no_more() -> None:
    reboots = Policy(conditions={"KernelDeadlock": Response.REBOOT})
    (drain,) = decide(machine(KernelDeadlock=TRUE), (worker(),), reboots, 0, NOW).actions
    assert drain == DrainWorker(ORION, "worker-3", "[node_condition] KernelDeadlock")
    there = (drained("[node_condition] KernelDeadlock"),)
    assert decide(machine(), there, reboots, 0, NOW).actions == resumed(*there)
    (degraded,) = decide(machine(KernelDeadlock=TRUE), there, reboots, 0, NOW).actions
    assert isinstance(degraded, SetCondition)
    assert degraded == (names.DEGRADED, "True", names.NEED_REBOOT, "KernelDeadlock is True.")
    rebooted = {names.DEGRADED: Condition("False", names.REBOOTED, since=7_000.0)}
    assert not decide(machine(KernelDeadlock=TRUE, **rebooted), there, reboots, 0, NOW).actions
    assert decide(machine(**rebooted), there, reboots, 0, NOW).actions == resumed(*there)


def test_a_reboot_that_nobody_asks_for_any_more_is_taken_back_unless_slurm_is_silent() -> None:
    asked = machine(**{names.DEGRADED: TRUE})
    (over,) = decide(asked, (worker(),), POLICY, 0, NOW).actions
    assert over[:2] == (names.DEGRADED, "False")
    assert not decide(asked, (worker(known=False),), POLICY, 0, NOW).actions


def test_health_drains_are_left_alone_where_nodes_are_not_to_be_replaced() -> None:
    old = drained("[node_problem] gpu_health: XID 79", since=50.0)
    off = dataclasses.replace(POLICY, replaces=False)
    assert not decide(machine(), (old,), off, 0, NOW).actions


def test_nodes_with_a_sparing_label_are_left_alone() -> None:
    spared = dataclasses.replace(machine(MaintenanceScheduled=TRUE), labels={"pool": "debug"})
    policy = dataclasses.replace(POLICY, spared={"pool": "debug"})
    assert not decide(spared, (worker(),), policy, 0, NOW).actions


@pytest.mark.parametrize(
    ("reason", "words"),
    [
        ("[node_problem] gpu_health: row 7 [prolog]", ("gpuHealth", "row 7 [prolog]")),
        ("[node_problem] hello world: a", ("helloWorld", "a")),
        ("[node_problem] FOO   BAR: a", ("fooBar", "a")),
        ("[node_problem] special_characters!: a", ("specialCharacters", "a")),
        ("[node_problem] alreadyCamel: a", ("alreadyCamel", "a")),
        ("[node_problem] 3 fans failed", ("fansFailed", "3 fans failed")),
        ("[node_problem]", ("HealthCheckFailed", "")),
    ],
)
def test_drain_reasons_become_reasons_that_kubernetes_accepts(reason: str, words: tuple[str, str]) -> None:
    assert condition_words(reason) == words


statuses = st.sampled_from(["True", "False", "Unknown"])
kinds = ["MaintenanceScheduled", names.HARDWARE, names.MAINTENANCE, names.DEGRADED, names.DRAIN, names.REBOOT]
reasons = st.sampled_from(["", names.NEED_DRAIN, names.DRAINED, names.REBOOTED, names.DRAINING])
conditions = st.builds(Condition, statuses, reasons, since=st.floats(0, NOW))
machines = st.builds(
    lambda found, ready: machine(**{**found, "Ready": ready}),
    st.dictionaries(st.sampled_from(kinds), conditions),
    conditions,
)
texts = st.sampled_from(
    [
        *("", "bad fan", "Kill task failed", "[node_problem] a: b"),
        *(names.REPLACEMENT_REASON, names.REBOOT_REASON, names.NOT_READY_REASON),
    ]
)
workers = st.builds(
    Worker,
    st.just(ORION),
    st.sampled_from(["worker-0", "worker-1"]),
    known=st.booleans(),
    drains=st.booleans(),
    drained=st.booleans(),
    busy=st.booleans(),
    reason=texts,
    reason_since=st.floats(0, NOW),
)
eager = Policy(deletes_not_ready=True, budget=2)


@settings(max_examples=2000)
@given(machines, st.lists(workers, max_size=3), st.integers(0, 4))
def test_no_state_leads_to_harm(node: Machine, found: list[Worker], away: int) -> None:
    """A machine is taken away only without jobs and within the budget; only drains of ours are undone."""
    verdict = decide(node, tuple(found), eager, away, NOW)
    takes_away = any(
        isinstance(each, DeleteMachine)
        or (
            isinstance(each, SetCondition)
            and each.status == "True"
            and each.type in {names.DRAIN, names.REBOOT}
        )
        for each in verdict.actions
    )
    if takes_away:
        assert all(each.known for each in found)
        assert all(each.drained for each in found)
        assert away < eager.budget or held(node.conditions.items())
    for action in verdict.actions:
        if isinstance(action, ResumeWorker):
            assert not held(node.conditions.items())
            assert any(each.name == action.name and eager.ours(each.reason) for each in found)
        if isinstance(action, DrainWorker):
            assert any(each.name == action.name and not each.drains for each in found)
