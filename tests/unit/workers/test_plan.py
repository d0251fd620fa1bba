"""Situations that people fear, one by one."""

from dataclasses import replace
from typing import Any

import pytest

from slurmery.slurm.model import Node
from slurmery.workers.model import Cause, Drain, Worker
from slurmery.workers.plan import Wish, plan
from slurmery.workers.scaling import reach

PREFIX = "slurm-operator: "
IDLE = ("IDLE",)
BUSY = ("ALLOCATED",)
DRAINED = ("IDLE", "DRAIN")
DRAINING = ("ALLOCATED", "DRAIN")


def worker(ordinal: int, state: tuple[str, ...] | None = IDLE, reason: str = "", **facts: Any) -> Worker:
    name = f"gpu-{ordinal}"
    slurm = None if state is None else Node(name=name, state=state, reason=reason)
    usual: dict[str, Any] = {"revision": "new", "host": "h", "registered_once": True, "slurm": slurm}
    return Worker(pod=name, slurm_name=name, slot=ordinal, **(usual | facts))


def wish(replicas: int, **facts: Any) -> Wish:
    return Wish(revision="new", prefix=PREFIX, replicas=replicas, **facts)


def deleted(*workers: Worker, **facts: Any) -> list[str]:
    return [d.pod for d in plan(wish(**facts), workers).delete]


def test_nothing_to_do_is_nothing_done() -> None:
    done = plan(wish(2), [worker(0), worker(1, BUSY)])

    assert done == type(done)()


def test_the_lowest_free_numbers_are_filled() -> None:
    assert plan(wish(4), [worker(1), worker(5)]).create == (0, 2)


def test_pods_are_created_while_slurm_is_silent() -> None:
    assert plan(wish(3), [worker(0, fresh=False)]).create == (1, 2)


def test_a_slot_is_not_filled_twice_while_its_pod_ends() -> None:
    assert plan(wish(2), [worker(0), worker(1, terminating=True)]).create == ()


def test_an_ending_pod_does_not_make_another_one_leave() -> None:
    done = plan(wish(2), [worker(0), worker(1), worker(2, terminating=True)])

    assert not done.mark
    assert not done.delete


def test_scale_in_waits_for_the_running_job() -> None:
    done = plan(wish(1), [worker(0), worker(1, BUSY)])

    assert done.mark == {"gpu-1": Cause.SCALE_IN}
    assert done.drain == (Drain("gpu-1", f"{PREFIX}pod gpu-1: it is being scaled in"),)
    assert done.delete == ()
    assert [w.why for w in done.waits] == ["scale-in waits: it has running jobs"]


def test_an_idle_worker_is_drained_before_it_goes() -> None:
    assert deleted(worker(0), worker(1, IDLE), replicas=1) == []
    assert deleted(worker(0), worker(1, DRAINED, leaving=Cause.SCALE_IN), replicas=1) == ["gpu-1"]


@pytest.mark.parametrize(
    "facts",
    [
        {"fresh": False},
        {"state": None},
        {"state": DRAINING},
        {"state": ("IDLE", "DRAIN", "COMPLETING")},
        {"state": ()},
        {"state": ("IDLE", "DRAIN", "UNDRAIN")},
    ],
    ids=["no answer", "forgotten by slurmctld", "job", "completing", "state unknown", "being undrained"],
)
def test_unknown_is_busy(facts: dict[str, Any]) -> None:
    leaving = worker(1, **({"state": DRAINED} | facts), leaving=Cause.SCALE_IN)

    assert deleted(worker(0), leaving, replicas=1) == []


def test_a_slurmctld_that_lost_its_state_costs_no_pod() -> None:
    done = plan(wish(3), [worker(n, None) for n in range(3)])

    assert (done.delete, done.mark, done.drain) == ((), {}, ())


def test_a_worker_that_never_started_goes_at_once() -> None:
    pending = worker(1, None, phase="Pending", ready=False, available=False, registered_once=False)

    assert deleted(worker(0), replace(pending, fresh=False), replicas=1) == ["gpu-1"]


def test_a_person_may_overrule() -> None:
    assert deleted(worker(0), worker(1, BUSY, forced=True), replicas=1) == ["gpu-1"]


def test_an_ended_pod_is_replaced_even_without_slurm() -> None:
    assert deleted(worker(0, phase="Failed", fresh=False), replicas=1) == ["gpu-0"]


def test_the_choice_is_kept_when_a_better_candidate_appears() -> None:
    chosen = worker(0, DRAINING, leaving=Cause.SCALE_IN)
    better = worker(1, ready=False, available=False)

    assert plan(wish(1), [chosen, better]).waits[0].pod == "gpu-0"


def test_a_worker_that_may_stay_after_all_is_released() -> None:
    spared = worker(1, DRAINING, f"{PREFIX}pod gpu-1: it is being scaled in", leaving=Cause.SCALE_IN)
    back = worker(1, IDLE, leaving=Cause.SCALE_IN)

    assert plan(wish(2), [worker(0), spared]).undrain == ("gpu-1",)
    assert plan(wish(2), [worker(0), spared]).unmark == ()
    assert plan(wish(2), [worker(0), back]).unmark == ("gpu-1",)


class TestAnAdminsDrain:
    def test_is_not_undone(self) -> None:
        assert plan(wish(1), [worker(0, DRAINED, "bad disk")]).undrain == ()

    def test_keeps_its_reason_when_the_worker_leaves(self) -> None:
        assert plan(wish(0), [worker(0, DRAINING, "bad disk")]).drain == ()

    def test_or_the_reason_of_a_node_set_down(self) -> None:
        assert plan(wish(0), [worker(0, ("DOWN",), "bad disk")]).drain == (Drain("gpu-0", ""),)


def test_a_cordoned_kubernetes_node_drains_its_worker_and_gives_it_back() -> None:
    cordoned = plan(wish(1), [worker(0, BUSY, host_reason="(KernelDeadlock: cpu stuck)")])
    back = plan(wish(1), [worker(0, DRAINING, f"{PREFIX}(KernelDeadlock: cpu stuck)")])

    assert cordoned.drain == (Drain("gpu-0", f"{PREFIX}(KernelDeadlock: cpu stuck)"),)
    assert cordoned.delete == ()
    assert back.undrain == ("gpu-0",)


@pytest.mark.parametrize("why", [{"host_reason": ""}, {"cordoned": True}])
def test_a_node_that_is_down_for_a_reason_of_anothers_is_not_drained_for_a_cordon(
    why: dict[str, Any],
) -> None:
    assert plan(wish(1), [worker(0, ("DOWN",), "Not responding", **why)]).drain == ()
    assert plan(wish(1), [worker(0, ("DOWN",), **why)]).drain != ()


def test_a_worker_still_busy_when_its_maintenance_ends_is_given_back() -> None:
    facts: dict[str, Any] = {"leaving": Cause.UPDATE, "revision": "old"}
    late = worker(0, DRAINING, f"{PREFIX}pod gpu-0: it is being updated", **facts)
    during = plan(wish(1, strategy="ScheduledUpdate", under_maintenance=lambda _: True), [late])
    after = plan(wish(1, strategy="ScheduledUpdate"), [late])

    assert (during.undrain, after.undrain) == ((), ("gpu-0",))


class TestAnUpdate:
    def test_takes_idle_workers_first(self) -> None:
        workers = [worker(0, IDLE, revision="old"), worker(1, BUSY, revision="old")]

        assert plan(wish(2, max_unavailable=1), workers).mark == {"gpu-0": Cause.UPDATE}

    def test_stays_within_its_budget(self) -> None:
        workers = [worker(n, revision="old") for n in range(8)]

        assert len(plan(wish(8, max_unavailable="25%"), workers).mark) == 2

    @pytest.mark.parametrize(
        "in_flight",
        [
            worker(0, None, phase="Pending", ready=False, available=False, registered_once=False),
            worker(0, terminating=True),
            worker(0, DRAINING, revision="old", leaving=Cause.UPDATE),
        ],
        ids=["arriving", "ending", "leaving"],
    )
    def test_waits_for_what_is_in_flight(self, in_flight: Worker) -> None:
        workers = [in_flight, *(worker(n, revision="old") for n in (1, 2))]

        assert plan(wish(3, max_unavailable=1), workers).mark == {}

    def test_takes_the_unhealthy_first_but_not_all_at_once(self) -> None:
        sick = [worker(n, BUSY, revision="old", ready=False, available=False) for n in range(4)]
        done = plan(wish(5, max_unavailable=2), [*sick, worker(4, revision="old")])

        assert len(done.mark) == 2
        assert "gpu-4" not in done.mark
        assert done.delete == ()

    def test_replaces_broken_pods_at_once(self) -> None:
        broken = [
            worker(n, None, phase="Pending", ready=False, available=False, registered_once=False,
                   revision="old")
            for n in range(4)
        ]  # fmt: skip

        assert len(deleted(*broken, replicas=4, max_unavailable=1)) == 4

    def test_on_delete_does_nothing(self) -> None:
        assert plan(wish(1, strategy="OnDelete"), [worker(0, revision="old")]).mark == {}

    def test_by_schedule_takes_what_the_reservation_holds(self) -> None:
        workers = [worker(n, revision="old") for n in range(3)]
        maintained = wish(3, strategy="ScheduledUpdate", under_maintenance=lambda w: w.pod == "gpu-1")

        assert plan(maintained, workers).mark == {"gpu-1": Cause.UPDATE}


def test_deletion_drains_every_worker_first() -> None:
    done = plan(wish(2, deleting=True), [worker(0, BUSY), worker(1, DRAINED)])

    assert {d.slurm_name for d in done.drain} == {"gpu-0"}
    assert [d.pod for d in done.delete] == ["gpu-1"]
    assert [w.pod for w in done.waits] == ["gpu-0"]


class TestOneWorkerPerNode:
    def placed(self, pod: str, host: str, state: tuple[str, ...] = IDLE, **facts: Any) -> Worker:
        return replace(worker(0, state, **facts), pod=pod, slot=host, host=host)

    def wanted(self, *hosts: str) -> Wish:
        return wish(0, hosts=frozenset(hosts))

    def test_missing_ones_are_created(self) -> None:
        assert plan(self.wanted("a", "b"), [self.placed("w", "a")]).create == ("b",)

    def test_of_duplicates_the_busy_one_stays(self) -> None:
        workers = [self.placed("busy", "a", BUSY), self.placed("idle", "a")]

        assert plan(self.wanted("a"), workers).mark == {"idle": Cause.DUPLICATE}

    def test_a_node_that_no_longer_fits_is_drained_first(self) -> None:
        done = plan(self.wanted(), [self.placed("w", "a", BUSY)])

        assert done.mark == {"w": Cause.MISPLACED}
        assert done.delete == ()


def test_a_stateful_set_loses_its_highest_workers_whoever_is_idle() -> None:
    workers = [worker(0), worker(1, BUSY), worker(2), worker(3)]
    done = plan(wish(2, in_order=True), workers)

    assert done.mark == {"gpu-2": Cause.SCALE_IN, "gpu-3": Cause.SCALE_IN}
    assert done.create == ()


@pytest.mark.parametrize(
    ("states", "replicas"),
    [((IDLE, DRAINED, DRAINED), 1), ((IDLE, DRAINED, DRAINING), 3), ((IDLE, DRAINING, DRAINED), 2)],
)
def test_a_stateful_set_shrinks_only_above_the_highest_that_may_not_go(
    states: tuple[tuple[str, ...], ...], replicas: int
) -> None:
    assert reach([worker(ordinal, state) for ordinal, state in enumerate(states)], 1) == replicas


def test_a_stateful_set_does_not_shrink_while_slurm_is_silent() -> None:
    assert reach([worker(0), worker(1, DRAINED, fresh=False)], 1) == 2
