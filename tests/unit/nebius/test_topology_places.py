"""Where workers stand, from labels of the nodes that they run on."""

from slurmery.nebius.topology.places import node_labels, tiers, topology_conf
from tests.unit.nebius.clusters import cluster, nodeset

PREFIX = "topology.nebius.com"
LABELS = {f"{PREFIX}/tier-1": "leaf1", f"{PREFIX}/tier-2": "spine", "example.com/tier-1": "other"}


def test_only_labels_of_the_prefix_count() -> None:
    assert tiers(LABELS, PREFIX) == {1: "leaf1", 2: "spine"}
    assert tiers({f"{PREFIX}/tier-x": "a", f"{PREFIX}/tier-1": ""}, PREFIX) == {}


def test_workers_find_the_labels_of_their_node() -> None:
    found = node_labels({"host-0": {2: "spine", 1: "leaf1"}, "host-1": {}})
    assert found == {"host-0": '{"tier-1": "leaf1", "tier-2": "spine"}'}


def test_every_worker_has_a_place_whether_it_runs_or_not() -> None:
    given = cluster(slurmNodes__worker__size=3)
    text = topology_conf(given, {"worker-1": "host-0", "worker-4": "host-0"}, {"host-0": {1: "leaf1"}})
    assert text.splitlines() == [
        "SwitchName=leaf1 Nodes=worker-[1,4]",
        "SwitchName=root Switches=leaf1,unknown",
        "SwitchName=unknown Nodes=worker-[0,2]",
    ]


def test_slurm_reads_the_file_again_once_a_worker_has_registered() -> None:
    given = cluster(slurmNodes__worker__size=12)
    before, after = (
        topology_conf(given, {}, {}, known) for known in ((), ("worker-10", "worker-2", "old-1"))
    )
    assert after == f"{before}#Registered: worker-[2,10]\n"
    named = cluster("5.0", (nodeset("cpu", 2),))
    assert topology_conf(named, {}, {}, ("cpu-0",)) == topology_conf(named, {}, {})


def test_nodesets_have_fabrics_of_their_own() -> None:
    given = cluster("5.0", (nodeset("cpu", 2, topology__fabric="f1"),))
    text = topology_conf(given, {"cpu-0": "host-0"}, {"host-0": {1: "leaf1"}})
    assert "SwitchName=f1 Switches=f1.unknown,leaf1" in text


def test_blocks_come_from_tier_zero() -> None:
    given = cluster("5.0", (nodeset("cpu", 2),), slurmConfig__topologyPlugin="topology/block")
    text = topology_conf(given, {"cpu-0": "host-0"}, {"host-0": {0: "b1"}})
    assert "BlockName=b1 Nodes=cpu-0" in text
    assert "BlockSizes=16" in text


def test_thousands_of_workers_are_a_few_lines() -> None:
    given = cluster(slurmNodes__worker__size=4000)
    hosts = {f"worker-{number}": f"host-{number}" for number in range(4000)}
    nodes = {f"host-{number}": {1: f"leaf{number // 100}"} for number in range(4000)}
    assert len(topology_conf(given, hosts, nodes).splitlines()) == 41
