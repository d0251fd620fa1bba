"""What the jail's writer waits for, seen with a real slurmctld and real slurmds."""

import asyncio

from slurmery.agents.jail.reconfiguration import Pace, Reconfiguration, Step
from slurmery.slurm.client import SlurmClient


async def test_a_reconfiguration_is_done_when_every_slurmd_started_anew(slurm: SlurmClient) -> None:
    before = await starts(slurm)
    # slurmd tells whole seconds.
    await asyncio.sleep(1.1)
    reconfiguration = Reconfiguration(slurm, Pace(settle=0, poll=0.5, limit=60), now=0)
    seen = []
    for now in range(120):
        progress = await reconfiguration.look(float(now))
        seen.append(progress.step)
        if progress.step is not Step.UNDER_WAY:
            break
        await asyncio.sleep(0.5)
    assert seen[-1] is Step.DONE
    after = await starts(slurm)
    assert all(after[name] > before[name] for name in before)


async def starts(slurm: SlurmClient) -> dict[str, int]:
    listed = await slurm.nodes()
    assert listed
    return {node.name: node.slurmd_start_time or 0 for node in listed.items}
