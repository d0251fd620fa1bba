"""What is kept in order in Slurm is asked for once, and a refusal is remembered for a while."""

import asyncio
from collections.abc import Awaitable, Mapping

import pytest

from slurmery.slinky.nodeset.keeper import Keeper
from slurmery.slinky.nodeset.reservation import Steps
from slurmery.slinky.nodeset.upkeep import Upkeep
from slurmery.slurm.errors import NotFoundError, RejectedError, SlurmError, UnreachableError
from slurmery.slurm.requests import NodeUpdate, ReservationRequest
from tests.unit.slinky.sets import nodeset

pytestmark = pytest.mark.looptime

TOPOLOGY = Upkeep(words=(("gpu-0", NodeUpdate(topology_str="x")), ("gpu-1", NodeUpdate(comment="c"))))


class Slurm:
    """Takes what it is told unless a test says what it answers instead."""

    def __init__(self, answers: Mapping[str, SlurmError] | None = None, hangs: bool = False) -> None:
        self.answers = answers or {}
        self.hangs = hangs
        self.heard: list[str] = []

    async def _hear(self, name: str) -> None:
        self.heard.append(name)
        if self.hangs:
            await asyncio.sleep(1000)
        if name in self.answers:
            raise self.answers[name]

    def update_node(self, name: str, update: NodeUpdate) -> Awaitable[None]:
        return self._hear(name)

    def delete_node(self, name: str) -> Awaitable[None]:
        return self._hear(f"-{name}")

    def reserve(self, reservation: ReservationRequest) -> Awaitable[None]:
        return self._hear(reservation.name)

    def delete_reservation(self, name: str) -> Awaitable[None]:
        return self._hear(f"-{name}")


async def test_what_slurm_refuses_holds_up_nothing_else_and_is_not_repeated_at_once() -> None:
    slurm, keeper = Slurm({"gpu-0": RejectedError("no such switch")}), Keeper()
    first, _ = await keeper.keep(slurm, nodeset(), TOPOLOGY)
    again, _ = await keeper.keep(slurm, nodeset(), TOPOLOGY)

    assert [each.message for each in first] == ["Slurm could not be told about gpu-0: no such switch."]
    assert again == first
    assert sorted(slurm.heard) == ["gpu-0", "gpu-1", "gpu-1"]
    await asyncio.sleep(400)
    await keeper.keep(slurm, nodeset(), TOPOLOGY)
    assert slurm.heard.count("gpu-0") == 2


async def test_a_refusal_does_not_make_the_last_answer_old_and_a_change_does() -> None:
    keeper = Keeper()
    await keeper.keep(Slurm({"gpu-0": RejectedError("no")}), nodeset(), TOPOLOGY)

    assert keeper.told.times().keys() == {"gpu-1"}


async def test_nothing_is_said_of_nodes_whose_answer_may_be_old_but_refusals_are_still_told() -> None:
    slurm, keeper = Slurm({"gpu-0": RejectedError("no")}), Keeper()
    await keeper.keep(slurm, nodeset(), TOPOLOGY)
    unsure = Upkeep(words=TOPOLOGY.words, unsure=frozenset({"gpu-0", "gpu-1"}))
    problems, _ = await keeper.keep(slurm, nodeset(), unsure)

    assert len(problems) == 1
    assert len(slurm.heard) == 2


async def test_a_slurm_that_hangs_is_not_waited_for() -> None:
    clock = asyncio.get_running_loop().time
    began, keeper = clock(), Keeper()
    problems, _ = await keeper.keep(Slurm(hangs=True), nodeset(), TOPOLOGY)

    assert clock() - began < 10
    assert "takes too long" in problems[0].message
    assert keeper.told.times().keys() == {"gpu-0", "gpu-1"}


async def test_a_slurm_that_is_away_is_asked_again_next_time() -> None:
    slurm, keeper = Slurm({"gpu-0": UnreachableError("gone")}), Keeper()
    await keeper.keep(slurm, nodeset(), TOPOLOGY)
    await keeper.keep(slurm, nodeset(), TOPOLOGY)

    assert slurm.heard.count("gpu-0") == 2


async def test_what_is_gone_already_needs_no_removal() -> None:
    gone = {"-SlurmOperatorMaint-gpu": NotFoundError("gone"), "-old": NotFoundError("gone")}
    upkeep = Upkeep(reservation=Steps(remove=True), ghosts=("old",))
    problems, events = await Keeper().keep(Slurm(gone), nodeset(), upkeep)

    assert problems == []
    assert [each.reason for each in events] == ["ReservationRemoved"]


async def test_many_problems_are_told_in_few_words() -> None:
    names = [f"gpu-{number}" for number in range(9)]
    words = tuple((name, NodeUpdate(comment="c")) for name in names)
    problems, _ = await Keeper().keep(
        Slurm(dict.fromkeys(names, RejectedError("no"))), nodeset(), Upkeep(words=words)
    )

    assert len(problems) == 4
    assert problems[-1].message == "And so for 6 more."
