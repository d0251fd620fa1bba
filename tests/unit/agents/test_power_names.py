"""Nodes as Slurm names them."""

import pytest

from slurmery.agents.power.names import by_nodeset
from slurmery.slurmconf.hostlist import HostlistError


def test_nodes_are_sorted_by_their_nodeset() -> None:
    assert by_nodeset("gpu-[0-1,5],big-cpu-2") == {"gpu": {0, 1, 5}, "big-cpu": {2}}


@pytest.mark.parametrize("nodes", ["", "gpu", "gpu-", "-3", "gpu-[0-", "gpu-x"])
def test_what_is_no_list_of_workers_is_refused(nodes: str) -> None:
    with pytest.raises(HostlistError):
        by_nodeset(nodes)
