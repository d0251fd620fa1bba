"""What is decided for a Controller when something is amiss, external, or on its way."""

from dataclasses import replace
from typing import Any

import pytest

from slurmery.doors.conditions import Condition, Rollout
from slurmery.kube.desired import Policy
from slurmery.kube.resources import SERVICES, STATEFUL_SETS
from slurmery.slinky.controller.decide import PRUNED, ControllerPlan, decide
from slurmery.slinky.controller.observed import Observed, SlurmctldPod
from tests.unit.slinky.clusters import SETTLED, accounting, controller, nodeset, world

SHARED = {"enabled": True, "existingClaim": "shared"}
HA: dict[str, Any] = {"ha": {"enabled": True}, "persistence": SHARED}
EXTERNAL: dict[str, Any] = {"external": True, "externalConfig": {"host": "ctl", "port": 6817}}


def kinds(plan: ControllerPlan) -> list[str]:
    return [desired.manifest["kind"] for desired in plan.desired]


def said(plan: ControllerPlan) -> dict[str, Condition]:
    return {condition.type: condition for condition in plan.conditions}


BLOCKED: dict[str, tuple[dict[str, Any], Observed, str, str]] = {
    "no slurm key": (
        {},
        world(slurm_key_hash=None),
        "SecretNotFound",
        "Secret slurm-auth-slurm with key slurm.key, named by slurmKeyRef, does not exist.",
    ),
    "no jwt key": (
        {},
        world(jwt_key_hash=None),
        "SecretNotFound",
        "Secret slurm-auth-jwt with key jwt.key, named by jwtKeyRef, does not exist.",
    ),
    "no reference to a key": ({"slurmKeyRef": None}, world(), "KeyNotGiven", "slurmKeyRef is required."),
    "no config map": (
        {"configFileRefs": [{"name": "files"}]},
        world(),
        "ConfigMapNotFound",
        "ConfigMap files does not exist, but the spec names it.",
    ),
    "no script config map": (
        {"epilogSlurmctldScriptRefs": [{"name": "scripts"}]},
        world(),
        "ConfigMapNotFound",
        "ConfigMap scripts does not exist, but the spec names it.",
    ),
    "no jwks": (
        {"jwksKeyRef": {"name": "jwks", "key": "keys"}},
        world(config_maps={"jwks": {"other": ""}}),
        "ConfigMapNotFound",
        "ConfigMap jwks with key keys, named by jwksKeyRef, does not exist.",
    ),
    "a file that hides ours": (
        {"configFileRefs": [{"name": "files"}]},
        world(config_maps={"files": {"slurm.conf": ""}}),
        "ReservedFile",
        "ConfigMap files has the key slurm.conf, a file that the operator writes.",
    ),
    "standbys without a claim": (
        {"ha": {"enabled": True}},
        world(),
        "ClaimNotGiven",
        "ha needs persistence with an existingClaim, a volume that all slurmctld pods share.",
    ),
    "standbys without persistence": (
        {"ha": {"enabled": True}, "persistence": {**SHARED, "enabled": False}},
        world(),
        "ClaimNotGiven",
        "ha needs persistence with an existingClaim, a volume that all slurmctld pods share.",
    ),
    "a claim that only one can use": (
        HA,
        world(claim_modes=frozenset({"ReadWriteOnce"})),
        "ClaimNotShared",
        "PersistentVolumeClaim shared does not offer ReadWriteMany, as ha needs.",
    ),
    "no image": (
        {"slurmctld": {}, "logfile": {"image": "x"}},
        world(),
        "ImageMissing",
        "The container slurmctld has no image: the spec must give one.",
    ),
    "a cluster name with a line break": (
        {"clusterName": "a\nb"},
        world(),
        "InvalidValue",
        "clusterName must be letters, digits, '_', '.' and '-', not 'a\\nb'.",
    ),
    "a pod spec of the wrong shape": (
        {"template": {"spec": {"volumes": "none"}}},
        world(),
        "InvalidSpec",
        "spec.template.spec.volumes must be a list.",
    ),
}


@pytest.mark.parametrize("case", BLOCKED)
@pytest.mark.parametrize("running", [False, True])
def test_what_a_person_must_mend_is_told_and_what_runs_is_left_alone(case: str, running: bool) -> None:
    spec, observed, reason, message = BLOCKED[case]
    plan = decide(controller(**spec), replace(observed, rollout=SETTLED if running else None))
    assert set(kinds(plan)) == {"Service"}
    assert plan.prune == ()
    assert said(plan)["Degraded"] == Condition("Degraded", "True", reason, message)
    assert (said(plan)["Ready"].status, said(plan)["Progressing"].status) == (str(running), "False")
    assert message in said(plan)["Progressing"].message


def test_a_service_that_cannot_be_is_told_and_nothing_is_changed() -> None:
    doubled = {"spec": {"ports": [{"name": "slurmctld", "port": 1}]}}
    plan = decide(controller(service=doubled), world())
    assert (plan.desired, plan.prune) == ((), ())
    assert said(plan)["Degraded"].reason == "InvalidSpec"
    assert "the port name 'slurmctld' is there twice" in said(plan)["Degraded"].message


WARNED: dict[str, tuple[dict[str, Any], Observed, str]] = {
    "no accounting": ({"accountingRef": {"name": "dbd"}}, world(), "AccountingNotFound"),
    "no claim": ({"persistence": SHARED}, world(), "ClaimNotFound"),
    "the same file twice": (
        {"configFileRefs": [{"name": "a"}, {"name": "b"}]},
        world(config_maps={"a": {"gres.conf": ""}, "b": {"gres.conf": ""}}),
        "DuplicateFile",
    ),
    "a bad nodeset": ({}, world(nodesets=(nodeset("all"),)), "NodeSetRefused"),
}


@pytest.mark.parametrize("case", WARNED)
def test_smaller_problems_are_told_and_stop_nothing(case: str) -> None:
    spec, observed, reason = WARNED[case]
    plan = decide(controller(**spec), replace(observed, rollout=SETTLED))
    assert kinds(plan) == ["Service", "Service", "ConfigMap", "StatefulSet"]
    assert (said(plan)["Degraded"].status, said(plan)["Degraded"].reason) == ("True", reason)
    assert said(plan)["Ready"].status == "True"
    assert plan.prune == PRUNED


def test_optional_references_may_be_missing() -> None:
    optional = {"jwksKeyRef": {"name": "jwks", "key": "keys", "optional": True}}
    plan = decide(controller(**optional), world())
    assert "StatefulSet" in kinds(plan)
    assert "jwks" not in str([desired.manifest for desired in plan.desired])


def test_a_settled_cluster_is_ready_and_rests() -> None:
    plan = decide(controller(), world(rollout=SETTLED))
    assert {kind: each.status for kind, each in said(plan).items()} == {
        "Ready": "True",
        "Progressing": "False",
        "Degraded": "False",
    }
    assert (plan.requeue, plan.relabels) == (None, ())


def test_with_standbys_one_slurmctld_is_enough_to_be_ready() -> None:
    seen = Rollout(generation=1, observed_generation=1, replicas=2, ready=1, updated=2)
    plan = decide(controller(**HA), world(rollout=seen, claim_modes=frozenset({"ReadWriteMany"})))
    assert (said(plan)["Ready"].status, said(plan)["Progressing"].status) == ("True", "True")


def test_the_stateful_set_is_replaced_under_its_pods_if_need_be() -> None:
    policies = {desired.resource.kind: desired.policy for desired in decide(controller(), world()).desired}
    assert policies["StatefulSet"] is Policy.RECREATE_ORPHANING


@pytest.mark.parametrize("jobs", [frozenset({"gpu"}), None])
def test_a_partition_in_use_is_waited_for(jobs: frozenset[str] | None) -> None:
    live = "PartitionName=gpu Nodes=gpu\n"
    plan = decide(controller(), world(rollout=SETTLED, slurm_conf=live, job_partitions=jobs))
    waiting = said(plan)["Progressing"]
    assert (waiting.status, waiting.reason, plan.requeue) == ("True", "PartitionInUse", 30.0)
    assert "gpu" in waiting.message
    assert ("RestApi" in waiting.message) == (jobs is None)


def test_an_external_cluster_is_a_config_map_and_no_pod() -> None:
    plan = decide(
        controller(**EXTERNAL, metrics={"enabled": True, "serviceMonitor": {"enabled": True}}), Observed()
    )
    assert kinds(plan) == ["ConfigMap"]
    assert (plan.prune, plan.relabels) == (PRUNED, ())
    assert said(plan)["Ready"].message == "slurmctld runs outside Kubernetes, at ctl:6817."


def test_pods_of_an_external_cluster_are_not_labelled() -> None:
    pods = (SlurmctldPod("slurm-controller-0", ready=True, active=False),)
    assert decide(controller(**EXTERNAL), Observed(pods=pods)).relabels == ()


def test_an_external_address_that_cannot_be_written_is_told() -> None:
    bad = {**EXTERNAL, "externalConfig": {"host": "ctl\nAuthType=auth/none", "port": 1}}
    plan = decide(controller(**bad), Observed())
    assert (plan.desired, plan.prune) == ((), ())
    assert said(plan)["Degraded"].reason == "InvalidValue"


def test_an_external_cluster_misses_its_accounting_too() -> None:
    spec = {**EXTERNAL, "accountingRef": {"name": "dbd"}}
    assert said(decide(controller(**spec), Observed()))["Degraded"].reason == "AccountingNotFound"
    found = decide(controller(**spec), Observed(accounting=accounting()))
    assert said(found)["Degraded"].status == "False"


def test_a_new_controller_waits_a_moment_for_what_is_made_together_with_it() -> None:
    early = decide(controller(), world(arriving=True))
    assert {each.resource for each in early.desired} == {SERVICES}
    assert (early.requeue, early.prune) == (1.0, ())
    assert said(early)["Degraded"].status == "False"
    running = decide(controller(), world(arriving=True, rollout=SETTLED))
    assert STATEFUL_SETS in {each.resource for each in running.desired}
