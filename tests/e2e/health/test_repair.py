"""A node in trouble, from its condition to its return, with a real Slurm that runs a job on it."""

import asyncio

from slurmery.health.repair import policy as names
from tests.controlplane.health.stage import Checks, Stage
from tests.e2e.health.lab import Lab

MAINTENANCE = "NebiusMaintenanceScheduled"


async def test_a_node_is_replaced_without_losing_its_job_though_everything_fails_on_the_way(
    stage: Stage[Lab], checks: Checks, lab: Lab
) -> None:
    await stage.node(0, workers=2)
    job = lab.submit("worker-0")
    lab.drain("worker-01", "bad fan, ana")
    await stage.say(0, MAINTENANCE, "True")
    await stage.drained("worker-0", names.REPLACEMENT_REASON)
    await checks.restart()
    lab.hang()
    await asyncio.sleep(3)
    lab.unhang()
    await stage.hears(stage.host(0), "Jobs run on worker-0: they are waited for.")
    assert lab.state(job) == "RUNNING"
    assert names.MAINTENANCE not in await stage.conditions(0)

    lab.end()
    await stage.says(0, names.MAINTENANCE, "True", names.DRAINING)
    assert lab.state(job) == "COMPLETED"
    lab.hang()
    await checks.restart()
    await stage.evict("worker-0", "worker-01")
    await stage.say(0, names.DRAIN, "True", names.DRAINED)
    await asyncio.sleep(3)
    assert await stage.there(0)
    lab.unhang()
    await stage.gone(0)

    await checks.restart()
    await stage.node(1, workers=0)
    await stage.worker("worker-0", stage.host(1))
    await stage.worker("worker-01", stage.host(1))
    await stage.undrained("worker-0")
    await asyncio.sleep(3)
    assert lab.drained("worker-01")
    assert "bad fan, ana" in lab.reason("worker-01")


async def test_a_failed_health_check_of_slurm_marks_the_node_and_a_reboot_gives_it_back(
    stage: Stage[Lab], checks: Checks, lab: Lab
) -> None:
    await stage.node(0, workers=2)
    lab.drain("worker-0", "Kill task failed")
    await stage.drained("worker-01", names.REBOOT_REASON)
    await stage.says(0, names.REBOOT, "True", names.NEED_REBOOT)
    await asyncio.sleep(1.1)  # Slurm and Kubernetes tell times in whole seconds
    await stage.say(0, names.REBOOT, "True", names.REBOOTED)
    await stage.says(0, names.DEGRADED, "False", names.REBOOTED)
    try:
        await stage.undrained("worker-0")
    finally:
        print("LOG", lab.log)
    await stage.undrained("worker-01")

    lab.drain("worker-0", "[node_problem] gpu_health: GPU 3: XID 79")
    await stage.says(0, names.HARDWARE, "True", "GpuHealth")
    assert "[node_problem] gpu_health: GPU 3: XID 79" in lab.reason("worker-0")
