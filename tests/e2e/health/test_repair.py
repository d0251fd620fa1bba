"""A node in trouble, from its condition to its return: real programs, a real Slurm that runs a job on it."""

import asyncio

import pytest

from slurmery.health.repair import policy as names
from tests.controlplane.health.stage import SlinkyStage, Stage
from tests.e2e.health.lab import Lab
from tests.e2e.health.programs import Programs

MAINTENANCE = "NebiusMaintenanceScheduled"
DEADLOCK = "KernelDeadlock"


async def test_a_condition_leads_through_a_reboot_and_back_though_all_programs_die_at_each_step(
    stage: Stage[Lab], programs: Programs, lab: Lab
) -> None:
    host = await stage.node(0, workers=2)
    job = lab.submit("worker-0")
    lab.drain("worker-01", "bad fan, ana")
    programs.start(host)
    async with programs.mortal(stage.client, host):
        await stage.say(0, DEADLOCK, "True", "DockerHung")
        await stage.drained("worker-0", f"{names.CONDITION_REASON}{DEADLOCK}")
        programs.restart()
        await stage.hears(host, "Jobs run on worker-0: they are waited for.")
        assert lab.state(job) == "RUNNING"
        assert names.DEGRADED not in await stage.conditions(0)

        programs.restart()
        lab.end()
        await stage.says(0, names.REBOOT, "False", names.REBOOTED)
        await stage.says(0, names.DEGRADED, "False", names.REBOOTED)
        assert lab.state(job) == "COMPLETED"
        assert not await stage.cordoned(0)
        assert await stage.pods() == set()
        assert lab.drained("worker-0")

        await stage.worker("worker-0", host)
        await stage.worker("worker-01", host)
        await stage.say(0, DEADLOCK, "False", "KernelHasNoDeadlock")
        await stage.undrained("worker-0")
        programs.restart()
        await asyncio.sleep(5)
        assert not lab.drained("worker-0")
    assert programs.deaths >= 15
    assert "bad fan, ana" in lab.reason("worker-01")


async def test_a_node_is_replaced_without_losing_its_job_though_slurmrestd_is_down_in_the_middle(
    stage: Stage[Lab], programs: Programs, lab: Lab
) -> None:
    host = await stage.node(0, workers=2)
    job = lab.submit("worker-0")
    lab.drain("worker-01", "bad fan, ana")
    await stage.lingers("database", host)
    programs.start(host)
    await stage.say(0, MAINTENANCE, "True")
    await stage.drained("worker-0", names.REPLACEMENT_REASON)

    lab.fall_silent()
    lab.end()
    programs.restart()
    await stage.hears(host, "Slurm does not tell of worker-0, worker-01: they count as busy.")
    assert names.MAINTENANCE not in await stage.conditions(0)
    lab.speak()
    await stage.says(0, names.DRAIN, "True", names.DRAINING)
    assert lab.state(job) == "COMPLETED"

    lab.hang()
    programs.restart()
    await stage.leaves("database")
    await stage.says(0, names.DRAIN, "True", names.DRAINED)
    await stage.hears(host, "Its workers are unknown")
    assert await stage.there(0)
    lab.unhang()
    await stage.gone(0)

    programs.restart()
    await stage.node(1, workers=0)
    await stage.worker("worker-0", stage.host(1))
    await stage.worker("worker-01", stage.host(1))
    await stage.undrained("worker-0")
    await asyncio.sleep(5)
    assert "bad fan, ana" in lab.reason("worker-01")
    assert lab.drained("worker-01")


@pytest.mark.parametrize(("stage", "lab"), [(Stage, "24.11"), (SlinkyStage, "26.05")], indirect=True)
async def test_drains_of_slurm_reach_kubernetes_lead_to_a_reboot_or_mark_the_node(
    stage: Stage[Lab], programs: Programs, lab: Lab
) -> None:
    host = await stage.node(0, workers=2)
    programs.start(host)
    lab.drain("worker-0", "Kill task failed")
    await stage.drained("worker-01", names.REBOOT_REASON)
    await stage.says(0, names.DEGRADED, "False", names.REBOOTED)
    await stage.worker("worker-0", host)
    await stage.worker("worker-01", host)
    await stage.undrained("worker-0")
    await stage.undrained("worker-01")

    lab.drain("worker-0", "[node_problem] gpu_health: GPU 3: XID 79")
    await stage.hears(host, f"{names.HARDWARE} is True: GPU 3: XID 79")
    assert "[node_problem] gpu_health: GPU 3: XID 79" in lab.reason("worker-0")
    await stage.gone(0)
