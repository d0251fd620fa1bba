"""Pods bound through the real binding subresource."""

from typing import Any

import pytest

from slurmery.kube.errors import KubeError
from slurmery.kube.meta import Key
from slurmery.kube.resources import NODES, PODS, SERVICE_ACCOUNTS
from slurmery.slinky.names import TOPOLOGY_SPEC
from tests.controlplane.admission.world import World


@pytest.fixture
async def node(guarded: World) -> str:
    """A node that stands at switch s2."""
    name = f"node-{guarded.namespace}"
    await guarded.client.create(
        SERVICE_ACCOUNTS,
        guarded.manifest("v1", "ServiceAccount", "default", automountServiceAccountToken=False),
    )
    metadata = {"name": name, "annotations": {TOPOLOGY_SPEC: "topo-switch:s2"}}
    await guarded.client.create(NODES, {"apiVersion": "v1", "kind": "Node", "metadata": metadata})
    return name


async def bound(world: World, node: str, app: str = "slurmd", **binding: Any) -> dict[str, Any]:
    """The pod after it was created and bound to a node, as a scheduler binds it."""
    name = f"pod-{app}-{node}"
    labels = {"labels": {"app.kubernetes.io/name": app}}
    spec = {"containers": [{"name": "c", "image": "i"}]}
    await world.client.create(PODS, world.manifest("v1", "Pod", name, metadata=labels, spec=spec))
    await bind(world, name, node, **binding)
    return await world.client.get(PODS, Key(world.namespace, name))


async def bind(world: World, pod: str, node: str, **metadata: Any) -> None:
    target = {"apiVersion": "v1", "kind": "Node", "name": node}
    body = world.manifest("v1", "Binding", pod, metadata=metadata, target=target)
    await world.client.request("POST", PODS.path(world.namespace, pod, "binding"), body=body)


async def test_a_worker_knows_its_place_the_moment_it_is_bound(guarded: World, node: str) -> None:
    pod = await bound(guarded, node)

    assert pod["spec"]["nodeName"] == node
    assert pod["metadata"]["annotations"] == {TOPOLOGY_SPEC: "topo-switch:s2"}


async def test_annotations_of_the_schedulers_own_are_kept(guarded: World, node: str) -> None:
    pod = await bound(guarded, node, annotations={"scheduler/note": "a"})

    assert pod["metadata"]["annotations"] == {TOPOLOGY_SPEC: "topo-switch:s2", "scheduler/note": "a"}


async def test_a_node_without_a_place_gives_an_empty_annotation(guarded: World, node: str) -> None:
    await guarded.client.patch(NODES, Key("", node), {"metadata": {"annotations": None}})

    assert (await bound(guarded, node))["metadata"]["annotations"] == {TOPOLOGY_SPEC: ""}


async def test_a_worker_on_an_unknown_node_is_bound(guarded: World, node: str) -> None:
    pod = await bound(guarded, "nowhere")

    assert pod["spec"]["nodeName"] == "nowhere"
    assert "annotations" not in pod["metadata"]


async def test_pods_of_others_are_bound_untouched(guarded: World, node: str) -> None:
    pod = await bound(guarded, node, app="nginx")

    assert pod["spec"]["nodeName"] == node
    assert "annotations" not in pod["metadata"]


async def test_a_pod_that_does_not_exist_is_the_api_servers_to_refuse(guarded: World, node: str) -> None:
    with pytest.raises(KubeError, match='pods "ghost" not found'):
        await bind(guarded, "ghost", node)
