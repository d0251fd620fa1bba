"""What components of a cluster consist of."""

import pytest

from slurmery.api.nebius import SlurmCluster
from slurmery.nebius import names
from slurmery.nebius.slurmcluster.components import components
from slurmery.nebius.slurmcluster.decide import decide
from slurmery.nebius.slurmcluster.observed import Observed
from tests.unit.nebius.clusters import cluster, manifest


@pytest.mark.parametrize(
    ("plugin", "kept", "written"),
    [
        ("topology/tree", False, True),
        ("topology/block", False, True),
        ("topology/tree", True, False),
        ("topology/flat", False, False),
        ("", False, False),
    ],
)
def test_slurmctld_finds_a_topology_also_where_nobody_keeps_one(
    plugin: str, kept: bool, written: bool
) -> None:
    given = cluster(slurmConfig__topologyPlugin=plugin, slurmNodes__worker__size=2)
    common = components(given, Observed(topology_kept=kept))[0]
    found = {(each.manifest["kind"], each.key.name): each.manifest for each in common.desired}
    assert (("JailedConfig", names.TOPOLOGY_CONFIG) in found) == written
    if plugin == "topology/tree" and written:
        text = found["ConfigMap", names.TOPOLOGY_CONFIG]["data"]["topology.conf"]
        assert text == "SwitchName=unknown Nodes=worker-[0-1]\n"


@pytest.mark.parametrize(("version", "scraped"), [("1.22", False), ("5.0", True)])
def test_prometheus_scrapes_slurmctld_since_5_0(version: str, scraped: bool) -> None:
    found = {
        each.manifest["kind"]
        for component in components(cluster(version), Observed())
        for each in component.desired
        if component.name == names.CONTROLLER
    }
    assert ("ServiceMonitor" in found) == scraped


def test_room_for_nodes_is_what_was_written_before() -> None:
    resource = SlurmCluster.model_validate(manifest("1.22", "SlurmCluster"))
    plan = decide(resource, Observed(room=8192))
    [text] = [
        each.manifest["data"]["slurm.conf"]
        for each in plan.desired
        if each.key.name == "aurora-slurm-configs" and each.manifest["kind"] == "ConfigMap"
    ]
    assert "\nMaxNodeCount=8192\n" in text
