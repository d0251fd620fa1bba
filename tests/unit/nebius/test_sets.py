"""The same StatefulSets in the words of two APIs."""

from dataclasses import replace
from typing import Any

import pytest

from slurmery.kube.desired import Desired, Policy
from slurmery.kube.resources import STATEFUL_SETS
from slurmery.nebius import sets
from slurmery.nebius.cluster import Workers
from slurmery.nebius.controller import build as controller
from slurmery.nebius.login import build as login
from slurmery.nebius.nodeset import build as nodesets
from slurmery.nebius.slurmcluster.components import components
from slurmery.nebius.slurmcluster.observed import Observed
from slurmery.nebius.worker import build as worker
from tests.unit.nebius.clusters import cluster, nodeset

KRUISE = replace(cluster(), sets=sets.KRUISE)
GATE = {"conditionType": "InPlaceUpdateReady"}


def all_of(given: Any) -> dict[str, Desired]:
    gpu = nodeset("gpu", 4, maxUnavailable=2)
    assert gpu.spec
    return {
        "controller": controller.stateful_set(given, {}),
        "login": login.stateful_set(given, {}),
        "worker": worker.stateful_set(given, 3, {}),
        "gpu": nodesets.stateful_set(given, Workers("gpu", gpu.spec), 4, {}),
    }


@pytest.mark.parametrize("name", ["controller", "login", "worker", "gpu"])
def test_pods_names_and_claims_are_the_same_in_both(name: str) -> None:
    native, kruise = all_of(cluster())[name], all_of(KRUISE)[name]
    assert (native.resource, kruise.resource) == (STATEFUL_SETS, sets.KRUISE)
    assert kruise.manifest["apiVersion"] == "apps.kruise.io/v1beta1"
    assert kruise.policy is native.policy is Policy.RECREATE_ORPHANING
    notes = {"annotations": sets.STAYING} if name == "gpu" else {}
    assert kruise.manifest["metadata"] == {**native.manifest["metadata"], **notes}
    old, new = native.manifest["spec"], kruise.manifest["spec"]
    for field in ("replicas", "serviceName", "podManagementPolicy", "selector"):
        assert new[field] == old[field]
    assert new.get("volumeClaimTemplates") == old.get("volumeClaimTemplates")
    gates = {"readinessGates": [GATE]} if name == "controller" else {}
    assert new["template"]["spec"] == {**old["template"]["spec"], **gates}


def test_no_worker_is_replaced_by_kruise_and_few_go_at_once() -> None:
    found = all_of(KRUISE)
    for name, few in (("worker", "20%"), ("gpu", 2)):
        spec = found[name].manifest["spec"]
        assert spec["updateStrategy"] == {"type": "OnDelete"}
        assert spec["volumeClaimUpdateStrategy"] == {"type": "OnPVCDelete"}
        assert spec["scaleStrategy"] == {"maxUnavailable": few}


def test_slurmctld_is_changed_in_place_and_login_nodes_one_after_the_other() -> None:
    found = all_of(KRUISE)
    rolling = {
        name: found[name].manifest["spec"]["updateStrategy"]["rollingUpdate"]
        for name in ("controller", "login")
    }
    assert rolling["controller"]["podUpdatePolicy"] == "InPlaceIfPossible"
    assert rolling["login"] == {
        "maxUnavailable": 1,
        "partition": 0,
        "minReadySeconds": 0,
        "podUpdatePolicy": "ReCreate",
    }


@pytest.mark.parametrize("served", [True, False])
def test_without_openkruise_each_component_that_needs_it_says_so(served: bool) -> None:
    found = components(KRUISE, Observed(offers=lambda _: served, sets=sets.KRUISE))
    missing = {each.name for each in found if sets.MISSING in each.problems}
    assert missing == (set() if served else {"worker", "controller", "login"})
