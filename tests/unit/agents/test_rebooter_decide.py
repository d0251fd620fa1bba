"""The rebooter's decisions, alone and played to their end in small worlds."""

import dataclasses
from dataclasses import dataclass, field

from hypothesis import given, settings
from hypothesis import strategies as st

from slurmery.agents.rebooter.decide import REBOOTING, UNDRAINED, concerned, decide
from slurmery.agents.rebooter.model import Cordon, Evict, Guest, Own, Reboot, Step, Uncordon
from slurmery.health.repair import policy as names
from slurmery.health.repair.model import Condition, SetCondition
from slurmery.kube.meta import Key

ASKED = 1_000.0
BEFORE, AFTER = 500.0, 2_000.0
REBOOT = {names.REBOOT: Condition("True", names.NEED_REBOOT, since=ASKED)}
DRAIN = {names.DRAIN: Condition("True", names.NEED_DRAIN, since=ASKED)}
TRAINING = Guest(Key("orion", "worker-0"), "u0")
DAEMON = Guest(Key("kube-system", "proxy"), "u1", stays=True)


def kinds(steps: tuple[Step, ...]) -> list[type]:
    return [type(step) for step in steps]


def said(steps: tuple[Step, ...]) -> list[tuple[str, str, str]]:
    return [(one.type, one.status, one.reason) for one in steps if isinstance(one, SetCondition)]


def test_a_node_that_nobody_asks_anything_of_is_left_alone() -> None:
    for node in (Own({}), Own({}, unschedulable=True), Own({names.DRAIN: Condition("False")})):
        assert not concerned(node)
        assert decide(node, [TRAINING], BEFORE).steps == ()


def test_a_drain_cordons_and_evicts_and_waits_for_those_who_leave() -> None:
    first = decide(Own(DRAIN), [TRAINING, DAEMON], BEFORE)
    assert kinds(first.steps) == [Cordon, SetCondition, Evict]
    assert said(first.steps) == [(names.DRAIN, "True", names.DRAINING)]
    leaving = dataclasses.replace(TRAINING, leaving=True)
    second = decide(Own(DRAIN, unschedulable=True), [leaving, DAEMON], BEFORE)
    assert kinds(second.steps) == [SetCondition]
    assert second.again
    last = decide(Own(DRAIN, unschedulable=True), [DAEMON], BEFORE)
    assert said(last.steps) == [(names.DRAIN, "True", names.DRAINED)]


def test_an_empty_node_is_not_drained_before_its_cordon_was_seen() -> None:
    verdict = decide(Own(REBOOT), [DAEMON], BEFORE)
    assert kinds(verdict.steps) == [Cordon, SetCondition]
    assert said(verdict.steps) == [(names.DRAIN, "True", names.DRAINING)]


def test_an_empty_node_is_rebooted_once_everybody_can_read_it() -> None:
    verdict = decide(Own(REBOOT, unschedulable=True), [DAEMON], BEFORE)
    assert said(verdict.steps) == [(names.DRAIN, "True", names.DRAINED), (names.REBOOT, "True", REBOOTING)]
    assert isinstance(verdict.steps[-1], Reboot)


def test_a_machine_that_came_back_is_open_again_at_once() -> None:
    drained = {names.DRAIN: Condition("True", names.DRAINED, since=ASKED + 10)}
    verdict = decide(Own({**REBOOT, **drained}, unschedulable=True, cordoned_by_us=True), [DAEMON], AFTER)
    assert Uncordon() in verdict.steps
    assert said(verdict.steps) == [(names.DRAIN, "False", UNDRAINED), (names.REBOOT, "True", names.REBOOTED)]


def test_a_drain_that_was_asked_for_before_the_reboot_outlives_it() -> None:
    drained = {names.DRAIN: Condition("True", names.DRAINED, since=ASKED - 10)}
    verdict = decide(Own({**REBOOT, **drained}, unschedulable=True, cordoned_by_us=True), [DAEMON], AFTER)
    assert said(verdict.steps) == [(names.REBOOT, "True", names.REBOOTED)]
    assert Uncordon() not in verdict.steps


def test_a_reboot_that_is_over_is_not_done_again() -> None:
    over = {names.REBOOT: Condition("True", names.REBOOTED, since=ASKED)}
    assert decide(Own(over), [TRAINING], BEFORE).steps == ()


def test_what_is_said_already_is_not_said_again() -> None:
    first = decide(Own(DRAIN, unschedulable=True), [DAEMON], BEFORE)
    [step] = first.steps
    assert isinstance(step, SetCondition)
    now = Condition("True", step.reason, step.message, ASKED)
    assert decide(Own({names.DRAIN: now}, unschedulable=True), [DAEMON], BEFORE).steps == ()


@dataclass
class World:
    """A node, its pods, and what happens to them when steps are taken."""

    node: Own
    guests: list[Guest]
    stubborn: frozenset[str] = frozenset()
    booted: float = BEFORE
    clock: float = ASKED
    reboots: int = 0
    foreign: bool = field(init=False)

    def __post_init__(self) -> None:
        self.foreign = self.node.unschedulable and not self.node.cordoned_by_us

    def round(self) -> tuple[Step, ...]:
        self.clock += 1
        steps = decide(self.node, self.guests, self.booted).steps
        for step in steps:
            self.take(step)
        # Those who were asked to leave have left by the next look.
        self.guests = [guest for guest in self.guests if not guest.leaving]
        return steps

    def take(self, step: Step) -> None:
        match step:
            case Cordon():
                self.node = dataclasses.replace(self.node, unschedulable=True, cordoned_by_us=True)
            case Uncordon():
                assert not self.foreign
                self.node = dataclasses.replace(self.node, unschedulable=False, cordoned_by_us=False)
            case Evict():
                if step.uid not in self.stubborn:
                    self.guests = [
                        dataclasses.replace(one, leaving=True) if one.uid == step.uid else one
                        for one in self.guests
                    ]
            case SetCondition():
                before = self.node.condition(step.type)
                since = before.since if before.status == step.status else self.clock
                now = Condition(step.status, step.reason, step.message, since)
                self.node = dataclasses.replace(
                    self.node, conditions={**self.node.conditions, step.type: now}
                )
            case Reboot():
                assert all(guest.stays for guest in self.guests)
                self.reboots += 1
                self.booted = self.clock


uids = [f"u{number}" for number in range(6)]
guests = st.lists(
    st.builds(
        Guest, st.sampled_from(uids).map(lambda uid: Key("orion", uid)), st.sampled_from(uids), st.booleans()
    ),
    unique_by=lambda guest: guest.uid,
)
conditions = st.fixed_dictionaries(
    {},
    optional={
        kind: st.builds(
            Condition,
            st.sampled_from(["True", "False", "Unknown"]),
            st.sampled_from([names.NEED_DRAIN, names.NEED_REBOOT, names.DRAINED, names.REBOOTED]),
            since=st.sampled_from([BEFORE - 100, ASKED - 1, ASKED]),
        )
        for kind in (names.DRAIN, names.REBOOT)
    },
)
nodes = st.builds(
    lambda said, cordoned, ours: Own(said, cordoned, cordoned and ours),
    conditions,
    st.booleans(),
    st.booleans(),
)


@settings(max_examples=200, deadline=None)
@given(nodes, guests, st.frozensets(st.sampled_from(uids)), st.booleans())
def test_no_reboot_before_all_have_left_and_no_cordon_of_others_is_undone(
    node: Own, present: list[Guest], stubborn: frozenset[str], newcomer: bool
) -> None:
    world = World(node, present, stubborn)
    for number in range(12):
        world.round()
        if number == 1 and newcomer and not world.node.unschedulable:
            world.guests.append(Guest(Key("orion", "late"), "late"))
    assert world.reboots <= 1
    assert not world.foreign or world.node.unschedulable
    held = [guest for guest in world.guests if not guest.stays]
    if held and world.reboots == 0:
        return
    # Whoever was asked for a reboot and lost all its pods was rebooted and is still.
    assert world.round() == ()


@settings(max_examples=200, deadline=None)
@given(guests, st.booleans())
def test_a_drain_that_is_taken_back_leaves_the_node_as_it_was(present: list[Guest], cordoned: bool) -> None:
    world = World(Own(DRAIN, unschedulable=cordoned), present)
    for _ in range(4):
        world.round()
    assert world.node.condition(names.DRAIN).reason == names.DRAINED
    taken_back = {names.DRAIN: Condition("False", names.REBOOTED, since=world.clock)}
    world.node = dataclasses.replace(world.node, conditions=taken_back)
    world.round()
    assert world.node.unschedulable is cordoned
    assert world.round() == ()
