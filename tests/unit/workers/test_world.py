"""A small world in which anything may happen, and the promises that must hold in it.

Jobs come and go, Slurm falls silent or forgets, an admin drains nodes, the user changes the spec, and the
operator is killed at any point of carrying out its plan. The engine sees what was last observed, never the
truth.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from slurmery.slurm.model import Node
from slurmery.workers.model import Cause, Worker
from slurmery.workers.plan import Wish, plan

PREFIX = "slurm-operator: "
ADMIN = "admin: bad disk"


@dataclass
class Truth:
    """One worker as it really is."""

    revision: str
    jobs: int = 0
    drained_by: str = ""
    running: bool = False
    leaving: Cause | None = None
    registered: bool = False

    def node(self, name: str) -> Node | None:
        if not self.registered:
            return None
        states = ("ALLOCATED" if self.jobs else "IDLE", *(("DRAIN",) if self.drained_by else ()))
        return Node(name=name, state=states, reason=self.drained_by)


class World(RuleBasedStateMachine):
    """The rules are what may happen; the operator is one of them."""

    def __init__(self) -> None:
        super().__init__()
        self.workers: dict[int, Truth] = {}
        self.seen: dict[int, Node | None] = {}
        self.told: set[int] = set()
        self.silent = False
        self.replicas, self.revision, self.limit = 0, "r0", 1

    @initialize(replicas=st.integers(1, 3), limit=st.integers(1, 2))
    def begin(self, replicas: int, limit: int) -> None:
        self.replicas, self.limit = replicas, limit

    @rule(replicas=st.integers(0, 3))
    def user_scales(self, replicas: int) -> None:
        self.replicas = replicas

    @rule(number=st.integers(0, 1))
    def user_updates(self, number: int) -> None:
        self.revision = f"r{number}"

    @rule(ordinal=st.integers(0, 2))
    def pod_starts(self, ordinal: int) -> None:
        if worker := self.workers.get(ordinal):
            worker.running = worker.registered = True

    @rule(ordinal=st.integers(0, 2))
    def job_starts(self, ordinal: int) -> None:
        worker = self.workers.get(ordinal)
        if worker and worker.registered and not worker.drained_by:
            worker.jobs += 1

    @rule(ordinal=st.integers(0, 2))
    def job_ends(self, ordinal: int) -> None:
        worker = self.workers.get(ordinal)
        if worker and worker.jobs:
            worker.jobs -= 1

    @rule(ordinal=st.integers(0, 2))
    def admin_drains(self, ordinal: int) -> None:
        worker = self.workers.get(ordinal)
        if worker and worker.registered:
            worker.drained_by = ADMIN

    @rule()
    def slurm_falls_silent(self) -> None:
        self.silent = True

    @rule()
    def slurm_answers(self) -> None:
        self.silent = False
        self.seen = {ordinal: worker.node(f"w-{ordinal}") for ordinal, worker in self.workers.items()}
        self.told.clear()

    @rule()
    def slurmctld_loses_its_state(self) -> None:
        for worker in self.workers.values():
            worker.registered = False
            worker.drained_by = ""
        self.told.update(self.workers)

    @rule(ordinal=st.integers(0, 2), replicas=st.integers(0, 3), number=st.integers(0, 1))
    def a_job_starts_as_the_user_acts(self, ordinal: int, replicas: int, number: int) -> None:
        """What Slurm said last is no longer so."""
        self.job_starts(ordinal)
        self.user_scales(replicas)
        self.user_updates(number)
        self.operator_works(killed_after=100)

    @rule(rounds=st.integers(1, 3))
    def time_passes(self, rounds: int) -> None:
        """Pods come up, Slurm is asked, the operator works: what happens most of the time."""
        for _ in range(rounds):
            for ordinal in self.workers:
                self.pod_starts(ordinal)
            self.slurm_answers()
            self.operator_works(killed_after=100)

    @rule(killed_after=st.integers(0, 12))
    def operator_works(self, killed_after: int) -> None:
        wish = Wish(revision=self.revision, prefix=PREFIX, replicas=self.replicas, max_unavailable=self.limit)
        decided = plan(wish, [self.observed(ordinal) for ordinal in self.workers])
        steps: list[Callable[[], None]] = [
            *(partial(self.mark, pod, None) for pod in decided.unmark),
            *(partial(self.drain, name, None) for name in decided.undrain),
            *(partial(self.mark, pod, cause) for pod, cause in decided.mark.items()),
            *(partial(self.drain, d.slurm_name, d.reason) for d in decided.drain),
            *(partial(self.delete, d.pod) for d in decided.delete),
            *(partial(self.create, slot) for slot in decided.create),
        ]
        for step in steps[:killed_after]:
            step()

    def observed(self, ordinal: int) -> Worker:
        truth, name = self.workers[ordinal], f"w-{ordinal}"
        return Worker(
            pod=name,
            slurm_name=name,
            slot=ordinal,
            revision=truth.revision,
            host="h",
            phase="Running" if truth.running else "Pending",
            ready=truth.running,
            available=truth.running,
            leaving=truth.leaving,
            registered_once=truth.running,
            fresh=not self.silent and ordinal in self.seen and ordinal not in self.told,
            slurm=self.seen.get(ordinal),
        )

    def mark(self, pod: str, cause: Cause | None) -> None:
        self.workers[self.ordinal(pod)].leaving = cause

    def drain(self, name: str, reason: str | None) -> None:
        ordinal = self.ordinal(name)
        self.told.add(ordinal)
        worker = self.workers[ordinal]
        # Between our look and our word an admin may have come; a drain that was there to see is not touched.
        if reason is None:
            assert not self.seen_as_admins(ordinal), "an admin's drain was undone"
            worker.drained_by = ""
        elif worker.registered:
            assert not self.seen_as_admins(ordinal), "an admin's reason was overwritten"
            worker.drained_by = worker.drained_by or reason
            ours = [w for w in self.workers.values() if w.drained_by.startswith(PREFIX)]
            updated = [w for w in ours if w.leaving is Cause.UPDATE]
            assert len(updated) <= self.limit, "more workers are taken away than allowed"

    def delete(self, pod: str) -> None:
        worker = self.workers.pop(self.ordinal(pod))
        assert worker.jobs == 0, f"{pod} was deleted with a running job"
        self.seen.pop(self.ordinal(pod), None)

    def create(self, slot: int | str) -> None:
        assert isinstance(slot, int)
        assert slot not in self.workers, "a pod was created twice"
        self.workers[slot] = Truth(self.revision)

    @staticmethod
    def ordinal(name: str) -> int:
        return int(name.rpartition("-")[2])

    def seen_as_admins(self, ordinal: int) -> bool:
        node = self.seen.get(ordinal)
        return node is not None and node.reason == ADMIN

    def teardown(self) -> None:
        """When the world is calm, the wish comes true."""
        for _ in range(60):
            for worker in self.workers.values():
                worker.running = worker.registered = True
                worker.jobs = 0
                worker.drained_by = worker.drained_by.replace(ADMIN, "")
            self.slurm_answers()
            self.operator_works(killed_after=1000)
        assert sorted(w.revision for w in self.workers.values()) == [self.revision] * self.replicas
        assert not any(w.drained_by or w.leaving for w in self.workers.values())


TestWorld = World.TestCase
TestWorld.settings = settings(max_examples=200, stateful_step_count=60, deadline=None)
