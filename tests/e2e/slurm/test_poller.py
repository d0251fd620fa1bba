"""The poller on a real Slurm: what it tells when nodes drain and when slurmctld stops answering."""

import asyncio

from slurmery.slurm.client import SlurmClient
from slurmery.slurm.poller import Poller
from slurmery.slurm.requests import NodeUpdate
from slurmery.slurm.snapshot import Changes, Part
from tests.e2e.slurm.lab import Lab


async def test_a_snapshot_follows_slurm_and_is_not_fooled_by_its_silence(
    lab: Lab, slurm: SlurmClient
) -> None:
    heard: asyncio.Queue[Changes] = asyncio.Queue()
    poller = Poller(slurm, {Part.NODES: 1.0}, heard.put_nowait)
    task = asyncio.create_task(poller.run())
    now = asyncio.get_running_loop().time
    try:
        async with asyncio.timeout(60):
            assert (await heard.get()).added == {"n0", "n1"}
            await slurm.update_node("n0", NodeUpdate(state=("DRAIN",), reason="slurmery: poller"))
            poller.poke(Part.NODES)
            assert (await heard.get()).changed == {"n0"}
            assert poller.snapshot.is_drained("n0", now(), 5.0)
            assert not poller.snapshot.is_drained("n1", now(), 5.0)

            lab.signal_slurmctld("STOP")
            try:
                while not (await heard.get()).error:
                    pass
                assert set(poller.snapshot.nodes) == {"n0", "n1"}
                assert not poller.snapshot.is_drained("n0", now(), 1000.0)
            finally:
                lab.signal_slurmctld("CONT")
            while (await heard.get()).error:
                pass
            assert poller.snapshot.is_drained("n0", now(), 5.0)
    finally:
        task.cancel()
        await asyncio.wait([task])
