from collections.abc import Mapping, Sequence
from typing import Any

from slurmery.agents.jail.group import (
    Member,
    acted,
    group_of,
    of_cluster,
    wishes,
    written,
)
from slurmery.agents.jail.reconfiguration import away, pending
from slurmery.api.nebius import JailedConfig
from slurmery.doors.views import Custom, read
from slurmery.kube.meta import Key, ObjectMeta
from slurmery.nebius.names import AGGREGATION_LABEL, INSTANCE_LABEL
from slurmery.slurm.model import Node, Number


def member(
    name: str,
    path: str = "/etc/slurm/slurm.conf",
    *,
    actions: Sequence[str] = ("Reconfigure",),
    told: str = "",
    labels: Mapping[str, str] | None = None,
) -> Member:
    spec: dict[str, Any] = {
        "configMap": {"name": f"{name}-files"},
        "items": [{"key": "conf", "path": path}],
        "updateActions": list(actions),
    }
    status = {"conditions": [{"type": "UpdateActionsCompleted", "status": told}]} if told else {}
    metadata = ObjectMeta(
        name=name, namespace="orion", uid=name, resource_version="1", labels=dict(labels or {})
    )
    view = Custom(metadata=metadata, spec=spec)
    return Member(view, read(JailedConfig, view), status, {"conf": b"x"})


def test_members_of_an_aggregation_are_written_together_and_others_alone() -> None:
    common = {AGGREGATION_LABEL: "common"}
    one, two, alone = member("a", labels=common).view, member("b", labels=common).view, member("c").view
    assert group_of(one) == group_of(two) != group_of(alone) == alone.key


def test_configs_of_another_cluster_are_not_ours() -> None:
    assert of_cluster(member("a").view, "orion")
    assert of_cluster(member("a", labels={INSTANCE_LABEL: "orion"}).view, "orion")
    assert not of_cluster(member("a", labels={INSTANCE_LABEL: "vega"}).view, "orion")


def test_a_missing_config_map_harms_its_own_config_alone() -> None:
    lost = Member(member("a").view, member("a").config, {}, None)
    found = wishes([lost, member("b", "/etc/slurm/gres.conf")])
    assert written(found[lost.view.key]).reason == "NotFound"
    assert acted(lost, found[lost.view.key], alone=False).reason == "NotWritten"
    assert [file.path for file in found[Key("orion", "b")].files] == ["/etc/slurm/gres.conf"]


def test_two_configs_do_not_fight_over_a_file() -> None:
    found = wishes([member("b"), member("a")])
    assert found[Key("orion", "a")].files
    assert found[Key("orion", "b")].reason == "PathTaken"
    assert "JailedConfig a writes /etc/slurm/slurm.conf" in found[Key("orion", "b")].words


def test_only_who_asks_for_it_and_was_not_told_yet_owes_slurm_a_word() -> None:
    assert member("a").owes
    assert member("a", told="False").owes
    assert not member("a", told="True").owes
    assert not member("a", actions=()).owes


def node(name: str, start: int, *state: str) -> Node:
    return Node(name=name, state=state or ("IDLE",), raw_slurmd_start_time=Number(set=True, number=start))


def test_a_slurmd_has_read_its_configuration_once_it_started_anew() -> None:
    before = {"worker-0": 100, "worker-1": 100, "worker-2": 100, "worker-3": 100}
    nodes = [
        node("worker-0", 101),
        node("worker-1", 100),
        node("worker-2", 100, "DOWN", "NOT_RESPONDING"),
        node("new", 5),
    ]
    assert pending(before, nodes) == {"worker-1", "worker-2"}
    assert away(nodes) == {"worker-2"}
