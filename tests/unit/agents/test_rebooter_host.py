"""The machine below the rebooter; the real one is never restarted here."""

import time

from slurmery.agents.rebooter.host import COMMAND, Machine, Rehearsal


def test_a_machine_was_started_in_the_past_and_always_at_the_same_time() -> None:
    first, second = Machine().booted(), Machine().booted()
    assert first < time.time()
    assert abs(first - second) < 1


def test_the_hosts_own_reboot_is_run_where_the_hosts_first_process_lives() -> None:
    assert COMMAND[:2] == ("nsenter", "--target=1")
    assert COMMAND[-2:] == ("--", "reboot")


async def test_a_rehearsed_reboot_leaves_the_machine_running_and_counts_as_one() -> None:
    machine = Rehearsal(Machine())
    before = machine.booted()
    await machine.reboot()
    assert before < machine.booted() <= time.time()
    assert Machine().booted() < machine.booted()
