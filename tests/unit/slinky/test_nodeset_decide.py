"""What is done about a NodeSet as a whole."""

from typing import Any

from slurmery.api.slinky import NodeSet
from slurmery.doors.conditions import Problem
from slurmery.doors.hearing import Slurm
from slurmery.slinky.nodeset.decide import claims_of, decide, pod, spent_claims
from slurmery.slinky.nodeset.gather import Gathered
from tests.unit.slinky.fleets import READY_AT, host, node, snapshot
from tests.unit.slinky.fleets import pod as worker_pod
from tests.unit.slinky.sets import nodeset, nodeset_world

MISSING = Problem("ControllerNotFound", "Controller slurm does not exist.")
DATA = [{"metadata": {"name": "data"}, "spec": {"accessModes": ["ReadWriteOnce"]}}]


def gathered(*names: str, **facts: Any) -> Gathered:
    pods = {name: worker_pod(name) for name in names}
    idle = Slurm(snapshot(*(node(name) for name in names)), clock=101.0)
    usual: dict[str, Any] = {
        "observed": nodeset_world(),
        "missing": (),
        "pods": pods,
        "hosts": {"h1": host()},
        "siblings": (),
        "slurm": idle,
        "now": READY_AT + 60,
    }
    return Gathered(**(usual | facts))


def pinned(node_name: str) -> NodeSet:
    status = {"nodeSetHash": "", "selector": "", "ordinalToNode": {"1": node_name}}
    plain = nodeset(replicas=2, pinToNode=True).model_dump(by_alias=True, mode="json")
    return NodeSet.model_validate({**plain, "status": status})


def test_while_no_pod_can_be_made_none_is_replaced() -> None:
    lost = gathered("gpu-0", "gpu-1", observed=None, missing=[MISSING])
    decision = decide(nodeset(replicas=2), lost)

    assert (decision.plan.create, decision.plan.mark, decision.plan.drain) == ((), {}, ())
    assert list(decision.standing.blocked) == [MISSING]
    assert decide(nodeset(replicas=2), gathered("gpu-0", "gpu-1")).plan.mark


def test_daemons_are_wanted_on_every_fitting_node() -> None:
    seen = gathered(hosts={"h1": host(), "h2": host("h2"), "h3": host("h3", labels={"a": "b"})})
    chosen = nodeset(scalingMode="DaemonSet", template={"spec": {"nodeSelector": {"a": "b"}}})

    assert decide(nodeset(scalingMode="DaemonSet"), seen).plan.create == ("h1", "h2", "h3")
    assert decide(chosen, seen).plan.create == ("h3",)
    assert decide(chosen, seen).standing.desired == 1


def test_a_pinned_worker_returns_to_its_node_while_that_takes_it() -> None:
    tainted = host(taints=[{"key": "x", "effect": "NoSchedule"}])
    places = [gathered(), gathered(hosts={"h1": tainted}), gathered(hosts={})]
    made = [pod(pinned("h1"), seen, decide(pinned("h1"), seen), 1) for seen in places]

    assert ["nodeAffinity" in each["spec"]["affinity"] for each in made] == [True, False, False]


def test_claims_go_when_the_user_says_so() -> None:
    kept = nodeset(volumeClaimTemplates=DATA)
    policy = {"whenDeleted": "Delete", "whenScaled": "Delete"}
    given = nodeset(volumeClaimTemplates=DATA, persistentVolumeClaimRetentionPolicy=policy)
    seen = gathered("gpu-3")

    assert claims_of(kept, seen, 3)[0]["metadata"]["ownerReferences"] == []
    assert claims_of(given, seen, 3)[0]["metadata"]["ownerReferences"][0]["uid"] == "uid-gpu"
    assert [key.name for key in spent_claims(kept, seen, "gpu-3")] == []
    assert [key.name for key in spent_claims(given, seen, "gpu-3")] == ["data-gpu-3"]


def test_the_conditions_that_are_to_be_propagated_are_the_reason_of_a_drain() -> None:
    stuck = {"type": "Gpu", "status": "True", "reason": "Xid79", "message": "fell off the bus"}
    seen = gathered("gpu-0", hosts={"h1": host(unschedulable=True, conditions=(stuck,))})

    kept = nodeset(updateStrategy={"type": "OnDelete"})
    assert [each.reason for each in decide(kept, seen, ["Gpu"]).plan.drain] == [
        "slurm-operator: (Xid79: fell off the bus)"
    ]
    assert [each.reason for each in decide(kept, seen).plan.drain] == [
        "slurm-operator: node h1 of pod gpu-0 is cordoned"
    ]


def test_a_slurm_that_fails_to_answer_is_told_and_one_not_asked_yet_is_not() -> None:
    failed = gathered("gpu-0", slurm=Slurm(snapshot(error="timed out"), clock=101.0))

    assert [each.reason for each in decide(nodeset(), failed).standing.problems] == ["SlurmNotAnswering"]
    assert not decide(nodeset(), gathered("gpu-0", slurm=Slurm())).standing.problems
