"""Defaults of NodeConfigurators on a real API server."""

from typing import Any

from slurmery.api import nebius
from slurmery.kube.meta import Key
from tests.controlplane.admission.world import World, resource
from tests.controlplane.api.nebius_specimens import CONFIGURATOR, NEW_CONFIGURATOR


async def stored(world: World, **parts: Any) -> dict[str, Any]:
    manifest = world.manifest("slurm.nebius.ai/v1alpha1", "NodeConfigurator", "n", **parts)
    await world.create(manifest)
    key = Key(world.namespace, "n")
    live = await world.client.get(resource(manifest), key)
    await world.client.delete(resource(manifest), key)
    assert nebius.NodeConfigurator.model_validate(live)
    return dict(live["spec"])


async def test_an_empty_object_shows_the_rebooter_that_it_stands_for(guarded: World) -> None:
    absent: dict[str, Any] = {}
    empty: dict[str, Any] = {"spec": {}}
    for parts in (absent, empty):
        spec = await stored(guarded, **parts)

        assert spec["rebooter"]["enabled"] is True
        assert spec["rebooter"]["name"] == "rebooter"
        assert spec["rebooter"]["logFormat"] == "json"
        assert spec["rebooter"]["evictionMethod"] == "evict", "the schema's defaults are filled in too"
        assert spec["hostNetwork"] is True
        assert "customContainer" not in spec


async def test_a_container_that_is_switched_on_gets_a_name_and_an_image(guarded: World) -> None:
    new = await stored(guarded, spec={"customContainer": {"enabled": True}})
    old = await stored(guarded, spec={"rebooter": {"enabled": False}, "nodeConfigurator": {"enabled": True}})

    assert new["customContainer"]["name"] == "custom-container"
    assert new["customContainer"]["image"]["repository"] == "busybox"
    assert old["nodeConfigurator"]["name"] == "node-sysctl-sleep"
    assert "name" not in old["rebooter"], "what is off stays as it was written"


async def test_what_the_user_wrote_is_kept(guarded: World) -> None:
    for specimen in (CONFIGURATOR, NEW_CONFIGURATOR):
        spec = await stored(guarded, spec=specimen["spec"])
        for part in ("rebooter", "customContainer", "nodeConfigurator"):
            given = specimen["spec"].get(part, {})
            image = given.get("image", {})
            assert {name: spec[part][name] for name in given if name != "image"} == {
                name: value for name, value in given.items() if name != "image"
            }
            assert image.items() <= spec.get(part, {}).get("image", {}).items()


async def test_defaults_are_filled_in_when_a_container_is_switched_on_later(guarded: World) -> None:
    manifest = guarded.manifest("slurm.nebius.ai/v1alpha1", "NodeConfigurator", "n", spec={})
    await guarded.create(manifest)
    assert await guarded.change(manifest, {"spec": {"customContainer": {"enabled": True}}}) == ""
    live = await guarded.client.get(resource(manifest), Key(guarded.namespace, "n"))
    assert live["spec"]["customContainer"]["name"] == "custom-container"
