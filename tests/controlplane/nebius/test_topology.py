"""topology.conf follows the labels of the nodes that workers run on."""

from slurmery.kube.meta import Key, Resource
from slurmery.kube.resources import CONFIG_MAPS, NODES, PODS
from slurmery.nebius.crew.observe import REGISTERED
from slurmery.nebius.kinds import JAILED_CONFIGS, SLURM_CLUSTERS
from tests.controlplane.nebius.conftest import Operator
from tests.controlplane.nebius.test_slurmcluster import orion
from tests.controlplane.slinky.scene import Scene, until

BINDINGS = Resource("", "v1", "bindings", "Binding")
TIER = "topology.nebius.com/tier-1"


async def test_topology_follows_the_labels_of_nodes(scene: Scene, operator: Operator) -> None:
    host = f"host-{scene.namespace}"
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": host, "labels": {TIER: "leaf1"}}}
    await scene.client.create(NODES, node)
    worker = {"slurmNodes__worker__size": 2, "slurmNodes__worker__priorityClass": None}
    await scene.create(SLURM_CLUSTERS, "orion", orion(maintenance="skipPopulateJail", **worker))
    await written(scene, "SwitchName=unknown Nodes=worker-[0-1]")
    await scene.exists(PODS, "worker-0")
    metadata = {"name": "worker-0", "namespace": scene.namespace}
    target = {"apiVersion": "v1", "kind": "Node", "name": host}
    await scene.client.create(
        BINDINGS, {"apiVersion": "v1", "kind": "Binding", "metadata": metadata, "target": target}
    )
    await written(scene, "SwitchName=leaf1 Nodes=worker-0")
    await scene.client.patch(NODES, Key("", host), {"metadata": {"labels": {TIER: "leaf2"}}})
    await written(scene, "SwitchName=leaf2 Nodes=worker-0")
    noted = {"metadata": {"annotations": {REGISTERED: "true"}}}
    await scene.client.patch(PODS, Key(scene.namespace, "worker-0"), noted)
    await written(scene, "#Registered: worker-0")
    [labels] = await scene.exists(CONFIG_MAPS, "topology-node-labels")
    assert labels["data"][host] == '{"tier-1": "leaf2"}'
    [jailed] = await scene.exists(JAILED_CONFIGS, "topology-config")
    assert jailed["spec"]["updateActions"] == ["Reconfigure"]
    await scene.client.delete(NODES, Key("", host))


async def written(scene: Scene, line: str) -> None:
    async def look() -> bool:
        [found] = await scene.exists(CONFIG_MAPS, "topology-config")
        return line in found["data"]["topology.conf"].splitlines()

    await until(look)
