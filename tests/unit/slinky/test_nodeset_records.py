"""What Slurm's records say of workers, and which of them are ghosts."""

import json
from typing import Any

import pytest

from slurmery.doors.hearing import Slurm
from slurmery.slinky import names
from slurmery.slinky.nodeset import ghosts, records
from slurmery.slurm.model import Job, Node
from slurmery.slurm.requests import NodeUpdate
from slurmery.slurm.snapshot import View
from slurmery.workers.model import Worker
from tests.unit.slinky.fleets import host, node, pod, snapshot
from tests.unit.slinky.sets import nodeset

COMMENT = '{"namespace":"slurm","podName":"gpu-0","node":"h1","nodeSetName":"gpu","nodeSetUID":"uid-gpu"}'
PRUNING: dict[str, Any] = {"scalingMode": "DaemonSet", "pruneSlurmNodeRecords": "NodeNotFound"}


def worker(slurm: Node | None, **facts: Any) -> Worker:
    usual: dict[str, Any] = {"pod": "gpu-0", "slurm_name": "gpu-0", "slot": 0, "host": "h1"}
    return Worker(**(usual | {"ready_since": 100.0, "slurm": slurm} | facts))


def said(slurm: Node, annotations: dict[str, str] | None = None, **spec: Any) -> list[NodeUpdate]:
    told = records.words(nodeset(**spec), [worker(slurm)], {"h1": host(annotations=annotations)})
    return [update for _, update in told]


def test_the_record_says_which_pod_it_is() -> None:
    assert said(node()) == [NodeUpdate(comment=COMMENT)]
    assert said(node(comment=COMMENT)) == []


@pytest.mark.parametrize("facts", [{"ready": False}, {"terminating": True}, {"slurm": None}])
def test_nothing_is_said_of_a_worker_that_is_not_well(facts: dict[str, Any]) -> None:
    assert records.words(nodeset(), [worker(**({"slurm": node()} | facts))], {"h1": host()}) == ()


class TestFeatures:
    def test_of_the_kubernetes_node_replace_those_of_before_and_no_others(self) -> None:
        known = node(
            comment=COMMENT, features=("gpu", "k8s/old"), active_features=("gpu", "mig=on", "k8s/old")
        )

        assert said(known, {names.FEATURES_SPEC: "b, a=1,,b"}) == [
            NodeUpdate(
                features=("gpu", "k8s/a=1", "k8s/b"), features_act=("gpu", "mig=on", "k8s/a=1", "k8s/b")
            )
        ]

    def test_go_with_their_annotation(self) -> None:
        known = node(comment=COMMENT, features=("gpu", "k8s/a"), active_features=("gpu", "k8s/a"))

        assert said(known) == [NodeUpdate(features=("gpu",), features_act=("gpu",))]

    def test_that_are_there_are_not_told_again_in_whatever_order(self) -> None:
        known = node(comment=COMMENT, features=("k8s/b", "k8s/a"), active_features=("k8s/a", "k8s/b"))

        assert said(known, {names.FEATURES_SPEC: "a,b"}) == []

    def test_that_slurm_could_not_read_are_left_and_named(self) -> None:
        bad = host(annotations={names.FEATURES_SPEC: "a&b"})

        assert said(node(comment=COMMENT, features=("k8s/a",)), {names.FEATURES_SPEC: "a&b"}) == []
        assert [each.reason for each in records.problems([worker(node())], {"h1": bad})] == [
            "InvalidAnnotation"
        ]


class TestTopology:
    def test_of_the_kubernetes_node_is_told(self) -> None:
        place = {names.TOPOLOGY_SPEC: "tree:s2,block:b2"}

        assert said(node(comment=COMMENT), place) == [NodeUpdate(topology_str="tree:s2,block:b2")]
        assert said(node(comment=COMMENT, topology="tree:s2,block:b2"), place) == []

    def test_is_not_emptied(self) -> None:
        assert said(node(comment=COMMENT, topology="tree:s2")) == []

    def test_of_the_users_own_wins(self) -> None:
        place = {names.TOPOLOGY_SPEC: "tree:s2"}

        assert said(node(comment=COMMENT, topology="tree:s1"), place, extraConf="Topology=tree:s1") == []

    @pytest.mark.parametrize("text", ["s1 Gres=gpu:8", 's1"; reboot', "$(reboot)", "a\nb"])
    def test_that_is_more_than_a_topology_reaches_nobody(self, text: str) -> None:
        bad = host(annotations={names.TOPOLOGY_SPEC: text})

        assert records.topology(bad) == ""
        assert said(node(comment=COMMENT), {names.TOPOLOGY_SPEC: text}) == []
        assert [each.reason for each in records.problems([worker(node())], {"h1": bad})] == [
            "InvalidAnnotation"
        ]


class TestANodeThatIsDown:
    @pytest.mark.parametrize("reason", [names.FAREWELL, ""])
    def test_because_its_pod_ended_is_back_with_the_next_pod(self, reason: str) -> None:
        assert said(_down(reason, changed=50)) == [NodeUpdate(state=("RESUME",))]

    @pytest.mark.parametrize(
        "down",
        [("bad disk", 50, ()), (names.FAREWELL, 150, ()), (names.FAREWELL, 50, ("NOT_RESPONDING",))],
    )
    def test_for_another_reason_or_since_its_pod_is_ready_stays_so(
        self, down: tuple[str, int, tuple[str, ...]]
    ) -> None:
        reason, changed, flags = down

        assert said(_down(reason, *flags, changed=changed)) == []


def _down(reason: str, *flags: str, changed: int) -> Node:
    facts: dict[str, Any] = {"reason": reason, "comment": COMMENT, "raw_reason_changed_at": changed}
    return node("gpu-0", "DOWN", *flags, **facts)


def ghost(name: str = "old", *state: str, **facts: Any) -> Node:
    comment = {**json.loads(COMMENT), "node": "h9", **facts}
    return node(name, *(state or ("DOWN", "NOT_RESPONDING")), comment=json.dumps(comment))


def pruned(*nodes: Node, clock: float = 101.0, jobs: tuple[Job, ...] = (), **spec: Any) -> tuple[str, ...]:
    listed = View({job.job_id: job for job in jobs}, 100.0)
    slurm = Slurm(snapshot(*nodes, jobs=listed), clock=clock)
    pods = {"gpu-x": pod("gpu-x", hostname="h1", labels={names.SCALING_MODE_LABEL: "DaemonSet"})}
    return ghosts.found(nodeset(**(PRUNING | spec)), slurm, pods, {"h1": host("h1.example.org")})


class TestAGhost:
    def test_is_a_record_whose_kubernetes_node_is_gone(self) -> None:
        assert pruned(ghost()) == ("old",)

    @pytest.mark.parametrize(
        "record",
        [
            ghost("h1"),
            ghost("old", "DOWN"),
            ghost("old", "IDLE", "NOT_RESPONDING"),
            ghost("old", "DOWN", "NOT_RESPONDING", "COMPLETING"),
            ghost(node=""),
            ghost(nodeSetUID="another"),
            ghost(nodeSetName="cpu"),
            node("old", "DOWN", "NOT_RESPONDING", comment="rack 7"),
            node("old", "DOWN", "NOT_RESPONDING", comment="[]"),
        ],
    )
    def test_is_nothing_else(self, record: Node) -> None:
        assert pruned(record) == ()

    def test_has_no_job(self) -> None:
        assert pruned(ghost(), jobs=(Job(job_id=1, job_state=("RUNNING",), nodes="old"),)) == ()

    def test_is_known_only_from_a_fresh_answer(self) -> None:
        assert pruned(ghost(), clock=200.0) == ()

    def test_stays_unless_the_user_wants_it_gone(self) -> None:
        assert pruned(ghost(), pruneSlurmNodeRecords="Never") == ()
        assert pruned(ghost(), scalingMode="StatefulSet") == ()

    def test_does_not_go_with_all_others_at_once(self) -> None:
        assert len(pruned(*(ghost(f"old-{number}") for number in range(50)))) == 10

    def test_is_not_seen_by_who_sees_no_kubernetes_node(self) -> None:
        slurm = Slurm(snapshot(ghost()), clock=101.0)

        assert ghosts.found(nodeset(**PRUNING), slurm, {}, {}) == ()
