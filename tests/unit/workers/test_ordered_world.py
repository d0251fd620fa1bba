"""The same world as in `test_world`, with the pods of a StatefulSet, which goes by its replicas."""

from collections.abc import Callable
from functools import partial

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import rule

from slurmery.workers.model import Cause
from slurmery.workers.plan import Wish, plan
from slurmery.workers.scaling import reach
from tests.unit.workers.test_world import PREFIX, Truth, World


class OrderedWorld(World):
    """Scaling in is no deletion of pods but fewer replicas, which the StatefulSet follows in its own time."""

    def __init__(self) -> None:
        super().__init__()
        self.live = self.known = 0

    @rule(ordinal=st.integers(0, 2))
    def pod_starts(self, ordinal: int) -> None:
        """Not while the StatefulSet is about to delete it: that takes less time than slurmd to register."""
        if ordinal < min(self.live, self.known):
            super().pod_starts(ordinal)

    @rule()
    def stateful_set_looks(self) -> None:
        self.known = self.live

    @rule()
    def stateful_set_follows(self) -> None:
        """What it saw last, which may be old."""
        for ordinal in [each for each in self.workers if each >= self.known]:
            self.delete(f"w-{ordinal}")
        for ordinal in range(self.known):
            self.workers.setdefault(ordinal, Truth(self.revision))

    @rule(killed_after=st.integers(0, 12))
    def operator_works(self, killed_after: int) -> None:
        wish = Wish(
            revision=self.revision,
            prefix=PREFIX,
            replicas=self.replicas,
            in_order=True,
            max_unavailable=self.limit,
        )
        observed = [self.observed(ordinal) for ordinal in self.workers]
        decided = plan(wish, observed)
        assert not decided.create
        replicas = min(reach(observed, self.replicas), max(self.live, self.replicas))
        settled = self.known == self.live == replicas
        ours = [each for each in decided.delete if each.why not in (Cause.SCALE_IN, Cause.DELETION)]
        steps: list[Callable[[], None]] = [
            partial(setattr, self, "live", replicas),
            *(partial(self.mark, pod, None) for pod in decided.unmark),
            *(partial(self.mark, pod, cause) for pod, cause in decided.mark.items()),
            *(partial(self.delete, each.pod) for each in ours),
            *(partial(self.drain, name, None) for name in decided.undrain if settled),
            *(partial(self.drain, each.slurm_name, each.reason) for each in decided.drain),
        ]
        for step in steps[:killed_after]:
            step()

    def drain(self, name: str, reason: str | None) -> None:
        if self.ordinal(name) in self.workers:  # else it was just deleted
            super().drain(name, reason)

    def teardown(self) -> None:
        for _ in range(60):
            self.stateful_set_looks()
            self.stateful_set_follows()
            for worker in self.workers.values():
                worker.running = worker.registered = True
                worker.jobs = 0
                worker.drained_by = worker.drained_by.replace("admin: bad disk", "")
            self.slurm_answers()
            self.operator_works(killed_after=1000)
        self.stateful_set_looks()
        self.stateful_set_follows()
        assert sorted(self.workers) == list(range(self.replicas))
        assert {each.revision for each in self.workers.values()} <= {self.revision}


TestOrderedWorld = OrderedWorld.TestCase
TestOrderedWorld.settings = settings(max_examples=200, stateful_step_count=60, deadline=None)
