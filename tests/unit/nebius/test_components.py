"""What components of a cluster consist of."""

import pytest

from slurmery.nebius import names
from slurmery.nebius.slurmcluster.components import components
from slurmery.nebius.slurmcluster.observed import Observed
from tests.unit.nebius.clusters import cluster


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
