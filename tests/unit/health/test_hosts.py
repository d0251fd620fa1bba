"""What is read of nodes, and how one condition is written."""

from typing import Any

import msgspec
import pytest

from slurmery.health.hosts import Host, marked
from slurmery.health.repair.model import SetCondition


def host(**status: Any) -> Host:
    return msgspec.convert({"metadata": {"name": "gpu-7", "uid": "u"}, "status": status}, Host)


@pytest.mark.parametrize(
    ("addresses", "found"),
    [
        ([("Hostname", "gpu-7.lan"), ("InternalIP", "10.0.0.7"), ("ExternalIP", "1.2.3.4")], "10.0.0.7"),
        ([("ExternalIP", "1.2.3.4"), ("Hostname", "gpu-7.lan")], "gpu-7.lan"),
        ([], "gpu-7"),
    ],
)
def test_a_kubelet_is_reached_by_its_inner_address_or_else_by_name(
    addresses: list[tuple[str, str]], found: str
) -> None:
    given = [{"type": kind, "address": address} for kind, address in addresses]
    assert host(addresses=given).address == found


def test_a_kubelet_may_name_its_port() -> None:
    assert host(daemonEndpoints={"kubeletEndpoint": {"Port": 10350}}).kubelet_port == 10350
    assert host().kubelet_port == 0


def test_a_condition_is_written_alone_and_its_time_changes_with_its_status_only() -> None:
    now = host(conditions=[{"type": "SlurmNodeDrain", "status": "True", "reason": "NodeNeedDrain"}])
    same = marked(now, SetCondition("SlurmNodeDrain", "True", "NodeDrained", ""))
    other = marked(now, SetCondition("SlurmNodeDrain", "False", "NodeUndrained", ""))
    assert same["metadata"] == {"uid": "u"}
    assert "lastTransitionTime" not in same["status"]["conditions"][0]
    assert "lastTransitionTime" in other["status"]["conditions"][0]
