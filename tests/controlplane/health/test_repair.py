"""Nodes in trouble are drained, repaired and given back, with a real API server and a Slurm of the test's."""

import asyncio
import random

import pytest

from slurmery.health.repair import policy as names
from slurmery.health.repair.model import Half
from slurmery.health.repair.policy import Response

from .stage import CLUSTER, Checks, Slurm, Stage

MAINTENANCE = "NebiusMaintenanceScheduled"


async def test_a_node_is_replaced_when_its_running_job_has_finished(
    stage: Stage[Slurm], checks: Checks
) -> None:
    host = await stage.node(0)
    stage.slurm.runs("worker-0", 7)
    await stage.say(0, MAINTENANCE, "True")
    await stage.drained("worker-0", names.REPLACEMENT_REASON)
    await stage.hears(host, "Jobs run on worker-0: they are waited for.")
    await stage.hears(CLUSTER, f"Node {host}: Jobs run on worker-0")
    assert names.MAINTENANCE not in await stage.conditions(0)

    stage.slurm.ends("worker-0")
    await stage.says(0, names.MAINTENANCE, "True", names.DRAINING)
    await stage.says(0, names.DRAIN, "True", names.NEED_DRAIN)
    await stage.evict("worker-0")
    await stage.say(0, names.DRAIN, "True", names.DRAINED)
    await stage.gone(0)

    await stage.node(1, workers=0)
    await stage.worker("worker-0", stage.host(1))
    await stage.undrained("worker-0")


async def test_a_failed_kill_leads_through_a_reboot_and_back(stage: Stage[Slurm], checks: Checks) -> None:
    await stage.node(0, workers=2)
    stage.slurm.says("worker-0", "IDLE", "DRAIN", reason="Kill task failed")
    await stage.drained("worker-01", names.REBOOT_REASON)
    await stage.says(0, names.DEGRADED, "True", names.NEED_REBOOT)
    await stage.says(0, names.REBOOT, "True", names.NEED_REBOOT)
    await stage.say(0, names.DRAIN, "True", names.DRAINED)
    await asyncio.sleep(1.1)  # Slurm and Kubernetes tell times in whole seconds
    await stage.say(0, names.REBOOT, "True", names.REBOOTED)

    for kind in (names.REBOOT, names.DRAIN, names.DEGRADED):
        await stage.says(0, kind, "False", names.REBOOTED)
    await stage.undrained("worker-0")
    await stage.undrained("worker-01")
    assert await stage.there(0)


async def test_an_administrators_drain_is_left_alone(stage: Stage[Slurm], checks: Checks) -> None:
    await stage.node(0, workers=2)
    stage.slurm.says("worker-0", "IDLE", "DRAIN", reason="bad fan, ana")
    await stage.say(0, MAINTENANCE, "True")
    await stage.drained("worker-01", names.REPLACEMENT_REASON)
    await stage.say(0, MAINTENANCE, "False")
    await stage.undrained("worker-01")
    assert stage.slurm.reason("worker-0") == "bad fan, ana"
    assert [name for name, _ in stage.slurm.words] == ["worker-01", "worker-01"]
    assert stage.slurm.callers == {("root", True)}


async def test_a_failed_health_check_marks_the_node_without_any_rebooter(
    stage: Stage[Slurm], checks: Checks
) -> None:
    await stage.node(0)
    stage.slurm.says("worker-0", "IDLE", "DRAIN", reason="[node_problem] gpu_health: GPU 3: XID 79")
    await stage.says(0, names.HARDWARE, "True", "gpuHealth")
    await stage.says(0, names.MAINTENANCE, "True", names.DRAINING)
    assert stage.slurm.reason("worker-0") == "[node_problem] gpu_health: GPU 3: XID 79"


async def test_nodes_without_workers_are_never_deleted(stage: Stage[Slurm], checks: Checks) -> None:
    await checks.restart(deletes_not_ready=True, not_ready_seconds=2.0, budget=3)
    await stage.node(0, workers=0)
    await stage.node(1)
    for number in (0, 1):
        await stage.say(number, MAINTENANCE, "True")
        await stage.say(number, names.READY, "Unknown", ago=60)
        await stage.say(number, names.DRAIN, "True", names.DRAINED)
    await stage.gone(1)
    assert names.MAINTENANCE not in await stage.conditions(0)
    assert await stage.there(0)


async def test_a_silent_node_goes_after_its_time_and_its_jobs(stage: Stage[Slurm], checks: Checks) -> None:
    await checks.restart(deletes_not_ready=True, not_ready_seconds=2.0)
    host = await stage.node(0)
    stage.slurm.runs("worker-0", 7)
    await stage.say(0, names.READY, "Unknown", "NodeStatusUnknown")
    await stage.drained("worker-0", names.NOT_READY_REASON)
    await stage.hears(host, "It is not ready. Jobs run on worker-0")
    assert await stage.there(0)
    stage.slurm.ends("worker-0")
    await stage.gone(0)


async def test_the_budget_holds_until_the_deleted_node_is_back(stage: Stage[Slurm], checks: Checks) -> None:
    hosts = [await stage.node(number) for number in range(3)]
    for number in range(3):
        await stage.say(number, MAINTENANCE, "True")
        await stage.drained(f"worker-{number}", names.REPLACEMENT_REASON)
    [first] = await stage.asked(0, 1, 2)
    await checks.restart()
    await asyncio.sleep(3)
    assert await stage.asked(0, 1, 2) == [first]

    await stage.evict(f"worker-{first}")
    await stage.say(first, names.DRAIN, "True", names.DRAINED)
    await stage.gone(first)
    rest = [number for number in range(3) if number != first]
    await stage.hears(hosts[rest[0]], "1 others are away for repair, 1 may be at once.")
    await checks.restart()
    await asyncio.sleep(4)
    assert not [number for number in rest if names.DRAIN in await stage.conditions(number)]

    await stage.node(9, workers=0)
    await stage.worker(f"worker-{first}", stage.host(9))
    await stage.undrained(f"worker-{first}")
    assert len(await stage.asked(*rest)) == 1


async def test_a_silent_slurm_stops_the_repair_and_breaks_nothing(
    stage: Stage[Slurm], checks: Checks
) -> None:
    host = await stage.node(0)
    await stage.say(0, MAINTENANCE, "True")
    await stage.drained("worker-0", names.REPLACEMENT_REASON)
    stage.slurm.silent = True
    await stage.hears(host, "Slurm does not tell of worker-0: they count as busy.")
    assert names.MAINTENANCE not in await stage.conditions(0)
    stage.slurm.silent = False
    await stage.says(0, names.DRAIN, "True", names.NEED_DRAIN)


async def test_a_slurm_that_has_never_answered_is_waited_for_in_words(
    stage: Stage[Slurm], checks: Checks
) -> None:
    stage.slurm.silent = True
    await checks.restart()
    host = await stage.node(0)
    await stage.say(0, MAINTENANCE, "True")
    await stage.hears(host, "Slurm does not tell of worker-0: they count as busy.")
    stage.slurm.silent = False
    await stage.drained("worker-0", names.REPLACEMENT_REASON)


@pytest.mark.parametrize(
    "sign",
    [
        "KernelDeadlock",  # node-problem-detector's
        "GpuThermalWatch",  # of NVIDIA's NVSentinel
        "AcceleratedHardwareReady=False",  # of Amazon's agent
    ],
)
async def test_a_condition_of_another_vendor_drains_and_gives_back(
    stage: Stage[Slurm], checks: Checks, sign: str
) -> None:
    kind, bad = names.parsed(sign)
    await checks.restart(conditions={sign: Response.DRAIN})
    await stage.node(0)
    await stage.say(0, kind, bad)
    await stage.drained("worker-0", f"[node_condition] {sign}")
    await stage.say(0, kind, "True" if bad == "False" else "False")
    await stage.undrained("worker-0")
    assert set(await stage.conditions(0)) == {kind, names.READY}


async def test_each_half_can_be_switched_off(stage: Stage[Slurm], checks: Checks) -> None:
    await stage.node(0)
    checks.halves = frozenset({Half.SLURM})
    await checks.restart()
    await stage.say(0, MAINTENANCE, "True")
    await stage.says(0, names.MAINTENANCE, "True", names.DRAINING)
    await asyncio.sleep(2)
    assert names.DRAIN not in await stage.conditions(0)

    checks.halves = frozenset({Half.KUBERNETES})
    await checks.restart()
    await stage.says(0, names.DRAIN, "True", names.NEED_DRAIN)
    await stage.node(1)
    await stage.say(1, MAINTENANCE, "True")
    await asyncio.sleep(2)
    assert not stage.slurm.drained("worker-1")


async def test_heartbeats_cost_nothing(stage: Stage[Slurm], checks: Checks) -> None:
    await stage.node(0)
    await stage.say(0, MAINTENANCE, "True")
    await stage.says(0, names.DRAIN, "True", names.NEED_DRAIN)
    await asyncio.sleep(1)
    words, writes = len(stage.slurm.words), stage.writes()
    for _ in range(5):
        await stage.say(0, names.READY, "True", "KubeletReady")
        await asyncio.sleep(0.3)
    assert (len(stage.slurm.words), stage.writes()) == (words, writes)


@pytest.mark.parametrize("seed", range(3))
async def test_killed_at_any_moment_the_repair_goes_on(
    stage: Stage[Slurm], checks: Checks, seed: int
) -> None:
    chance = random.Random(seed)
    over = asyncio.Event()

    async def kill() -> None:
        while not over.is_set():
            await asyncio.sleep(chance.uniform(0.3, 4.0))
            await checks.restart()

    killer = asyncio.create_task(kill())
    await stage.node(0, workers=2)
    stage.slurm.runs("worker-0", 7)
    stage.slurm.says("worker-01", "IDLE", "DRAIN", reason="bad fan, ana")
    await stage.say(0, MAINTENANCE, "True")
    await stage.drained("worker-0", names.REPLACEMENT_REASON)
    await asyncio.sleep(chance.uniform(0, 2))
    assert names.MAINTENANCE not in await stage.conditions(0)
    stage.slurm.ends("worker-0")
    await stage.says(0, names.DRAIN, "True", names.NEED_DRAIN)
    await stage.evict("worker-0", "worker-01")
    await stage.say(0, names.DRAIN, "True", names.DRAINED)
    await stage.gone(0)
    await stage.node(1, workers=0)
    await stage.worker("worker-0", stage.host(1))
    await stage.worker("worker-01", stage.host(1))
    await stage.undrained("worker-0")
    over.set()
    await killer
    assert stage.slurm.reason("worker-01") == "bad fan, ana"
    assert {name for name, _ in stage.slurm.words} == {"worker-0"}


async def test_a_program_that_dies_after_each_write_still_gets_there(
    stage: Stage[Slurm], checks: Checks
) -> None:
    stage.slurm.heard.append(checks.die)
    await checks.mortal()
    await stage.node(0, workers=2)
    stage.slurm.runs("worker-0", 7)
    stage.slurm.says("worker-01", "IDLE", "DRAIN", reason="[node_problem] gpu_health: XID 79")
    await stage.drained("worker-0", "[node_problem] gpu_health: XID 79")
    stage.slurm.ends("worker-0")
    await stage.says(0, names.HARDWARE, "True", "gpuHealth")
    await stage.says(0, names.MAINTENANCE, "True", names.DRAINING)
    await stage.says(0, names.DRAIN, "True", names.NEED_DRAIN)
    await stage.evict("worker-0", "worker-01")
    await stage.say(0, names.DRAIN, "True", names.DRAINED)
    await stage.gone(0)
    await asyncio.sleep(1.1)  # Slurm and Kubernetes tell times in whole seconds
    await stage.node(1, workers=0)
    await stage.worker("worker-0", stage.host(1))
    await stage.worker("worker-01", stage.host(1))
    await stage.undrained("worker-0")
    await stage.undrained("worker-01")
    assert checks.lives >= 7
    assert sorted(name for name, _ in stage.slurm.words) == ["worker-0", "worker-0", "worker-01"]
