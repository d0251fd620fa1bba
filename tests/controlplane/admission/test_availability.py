"""What happens to whom when the webhook is not there."""

import pytest

from slurmery.kube.meta import Key
from slurmery.kube.resources import PODS, SERVICE_ACCOUNTS
from tests.controlplane.admission.conftest import until
from tests.controlplane.admission.test_binding import bind
from tests.controlplane.admission.world import World

REF = {"controllerRef": {"name": "slurm"}}


@pytest.fixture
async def deserted(world: World) -> World:
    """A namespace over which a webhook watched that is gone."""
    held = world.slinky("NodeSet", "held", **REF)
    held["metadata"]["finalizers"] = ["slurmery.test/wait"]
    await world.create(
        held,
        world.slinky("NodeSet", "old", **REF),
        world.manifest("slurm.nebius.ai/v1alpha1", "NodeConfigurator", "old", spec={}),
    )
    async with world.serving() as running:
        await world.configure(running.port)
        await until(world.trusts)

    async def refused() -> bool:
        return "failed calling webhook" in await world.change(
            world.slinky("NodeSet", "old"), {"spec": {"replicas": 2}}
        )

    await until(refused)
    return world


async def test_changes_of_our_own_kinds_wait_for_it(deserted: World) -> None:
    assert "failed calling webhook" in await deserted.refusal(deserted.slinky("NodeSet", "new", **REF))


async def test_pods_are_bound_without_it(deserted: World) -> None:
    await deserted.client.create(SERVICE_ACCOUNTS, deserted.manifest("v1", "ServiceAccount", "default"))
    metadata = {"labels": {"app.kubernetes.io/name": "slurmd"}}
    spec = {"containers": [{"name": "c", "image": "i"}]}
    await deserted.client.create(PODS, deserted.manifest("v1", "Pod", "p", metadata=metadata, spec=spec))

    await bind(deserted, "p", "node")

    assert (await deserted.client.get(PODS, Key(deserted.namespace, "p")))["spec"]["nodeName"] == "node"


async def test_secrets_of_others_and_node_configurators_are_written_without_it(deserted: World) -> None:
    assert await deserted.refusal(deserted.manifest("v1", "Secret", "plain")) == ""
    assert await deserted.refusal(deserted.manifest("v1", "ConfigMap", "plain")) == ""
    old = deserted.manifest("slurm.nebius.ai/v1alpha1", "NodeConfigurator", "old")
    assert await deserted.change(old, {"spec": {"hostIPC": True}}) == ""


async def test_what_is_to_go_goes_without_it(deserted: World) -> None:
    assert await deserted.removal(deserted.slinky("NodeSet", "old")) == ""
    held = deserted.slinky("NodeSet", "held")
    assert await deserted.removal(held) == ""
    assert await deserted.change(held, {"metadata": {"finalizers": None}}) == ""
    assert "failed calling webhook" in await deserted.refusal(deserted.slinky("NodeSet", "held", **REF))


async def test_labels_and_finalizers_of_our_own_kinds_are_written_without_it(deserted: World) -> None:
    change = {"metadata": {"labels": {"a": "b"}, "finalizers": ["slurmery.test/wait"]}}
    assert await deserted.change(deserted.slinky("NodeSet", "old"), change) == ""
