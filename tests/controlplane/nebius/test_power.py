"""`slurmery power-manager` and the operator: nodes come and go as Slurm asks."""

import asyncio
from collections.abc import Callable
from datetime import timedelta

from slurmery.cli.programs import power as program
from slurmery.cli.settings.power import Action, PowerManagerSettings
from slurmery.kube.resources import PODS
from slurmery.nebius.kinds import POWER_STATES
from tests.controlplane.nebius.conftest import Operator
from tests.controlplane.nebius.test_nodesets import cluster, nodeset, started
from tests.controlplane.slinky.scene import Scene
from tests.controlplane.slinky_nodeset.stage import Slurm


def manager(scene: Scene) -> Callable[..., asyncio.Future[int]]:
    """Runs the program as Slurm would: in a process of its own, here a thread."""

    def call(action: Action, nodes: str, seconds: float = 20) -> asyncio.Future[int]:
        settings = PowerManagerSettings(
            action=action,
            nodes=nodes,
            namespace=scene.namespace,
            kubeconfig=scene.plane.kubeconfig,
            timeout=timedelta(seconds=seconds),
        )
        return asyncio.ensure_future(asyncio.to_thread(program.run, settings))

    return call


async def test_nodes_come_and_go_as_slurm_asks(scene: Scene, slurm: Slurm, operator: Operator) -> None:
    power = manager(scene)
    await cluster(scene)
    await nodeset(scene, "gpu", 8, ephemeralNodes=True, initialNumberEphemeralNodes=0)
    await scene.exists(POWER_STATES, "gpu")
    # Slurm calls once for each batch, and does not wait.
    done = await asyncio.gather(*(power(Action.RESUME, f"gpu-{ordinal}") for ordinal in (0, 2, 5)))
    assert done == [0, 0, 0]
    assert await power(Action.RESUME, "gpu-[0,2]") == 0
    assert await active(scene) == [0, 2, 5]
    await started(scene, slurm, "gpu-0", "gpu-2", "gpu-5")
    assert await power(Action.WAIT_ADDED, "gpu-[0,2,5]") == 0

    slurm.says("gpu-5", "IDLE", "POWERING_DOWN")
    assert await power(Action.SUSPEND, "gpu-5") == 0
    assert await power(Action.WAIT_REMOVED, "gpu-5") == 0
    assert {"gpu-0", "gpu-2"} == {name for name in await scene.names(PODS) if name.startswith("gpu-")}
    assert await power(Action.WAIT_REMOVED, "gpu-0", seconds=1) == 3


async def test_a_nodeset_that_is_not_ephemeral_holds_up_no_other(scene: Scene, operator: Operator) -> None:
    await cluster(scene)
    await nodeset(scene, "gpu", 8, ephemeralNodes=True, initialNumberEphemeralNodes=0)
    await scene.exists(POWER_STATES, "gpu")
    assert await manager(scene)(Action.RESUME, "cpu-0,gpu-[1-2]") == 1
    assert await active(scene) == [1, 2]


async def test_nodes_without_a_power_state_are_an_error(scene: Scene) -> None:
    assert await manager(scene)(Action.RESUME, "cpu-0") == 1


async def active(scene: Scene) -> list[int]:
    [found] = await scene.exists(POWER_STATES, "gpu")
    return list(found["spec"]["activeNodes"])
