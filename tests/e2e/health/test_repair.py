"""A node in trouble, from its condition to its return: real programs, a real Slurm that runs a job on it."""

import asyncio

from slurmery.health.repair import policy as names
from tests.controlplane.health.stage import Stage
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
