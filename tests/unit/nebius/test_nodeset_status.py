"""How a NodeSet stands."""

from dataclasses import replace
from typing import Any

import pytest

from slurmery.doors.conditions import Problem
from slurmery.kube.meta import Key
from slurmery.nebius.cluster import Workers
from slurmery.nebius.crew.decide import Decision, Squad
from slurmery.nebius.nodeset.decide import decide
from slurmery.nebius.nodeset.observed import Observed, Whole
from slurmery.workers.model import Worker
from tests.unit.nebius.clusters import cluster, nodeset

SQUAD = Squad(Key("slurm", "borealis"), "gpu", 2, 1, nodeset="gpu")
READY = Worker(pod="gpu-0", slurm_name="gpu-0", slot=0, phase="Running", ready=True, available=True)


def observed(ready: int, squad: Squad = SQUAD, **more: Any) -> Observed:
    given = nodeset("gpu", 2, ephemeralNodes=squad.ordinals is not None)
    assert given.spec
    owner = cluster("5.0", (given,))
    workers = [replace(READY, pod=f"gpu-{number}", slot=number) for number in range(ready)]
    whole = Whole(owner, Workers("gpu", given.spec), squad, {})
    return Observed(whole, decision=Decision(2, workers=tuple(workers)), **more)


def stands(seen: Observed) -> tuple[str, dict[str, str]]:
    plan = decide(nodeset("gpu", 2), seen)
    return plan.fields["phase"], {each.type: each.status for each in plan.conditions}


def test_without_its_cluster_it_is_pending() -> None:
    phase, said = stands(Observed(missing=Problem("ClusterNotFound", "There is none.")))
    assert (phase, said["ConfigUpdated"], said["Degraded"]) == ("Pending", "False", "True")


@pytest.mark.parametrize(("ready", "phase", "pods"), [(1, "Provisioning", "False"), (2, "Ready", "True")])
def test_it_is_ready_when_its_pods_are(ready: int, phase: str, pods: str) -> None:
    found, said = stands(observed(ready))
    assert (found, said["PodsReady"]) == (phase, pods)


@pytest.mark.parametrize("ready", [0, 2])
def test_one_that_goes_is_terminating_whatever_its_pods_do(ready: int) -> None:
    assert stands(observed(ready, replace(SQUAD, deleting=True)))[0] == "Terminating"


def test_pods_wait_for_the_jail() -> None:
    assert stands(observed(0, waits="No pod starts before."))[0] == "Configuring"


@pytest.mark.parametrize(
    ("ordinals", "ready", "phase"), [((), 0, "Ready"), ((0,), 1, "Ready"), ((0, 1), 1, "Provisioning")]
)
def test_of_an_ephemeral_one_those_count_that_are_on(
    ordinals: tuple[int, ...], ready: int, phase: str
) -> None:
    squad = replace(SQUAD, ordinals=frozenset(ordinals), revision="r")
    assert stands(observed(ready, squad))[0] == phase


def test_no_condition_is_ever_unknown() -> None:
    for seen in (observed(0), observed(2), Observed(missing=Problem("ClusterNotFound", "x"))):
        assert "Unknown" not in stands(seen)[1].values()
