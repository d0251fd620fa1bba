"""How a SlurmCluster stands as a whole: phases, conditions, counts."""

from typing import Any

import pytest

from slurmery.api.nebius import SlurmCluster
from slurmery.doors.conditions import Rollout
from slurmery.kube.meta import Resource
from slurmery.kube.resources import DEPLOYMENTS, POD_MONITORS, STATEFUL_SETS
from slurmery.nebius.slurmcluster.decide import ClusterPlan, decide
from slurmery.nebius.slurmcluster.observed import Observed
from tests.unit.nebius.clusters import changed, manifest

SECRETS = {
    "aurora-munge": {"munge.key": b"m"},
    "aurora-rest-jwt-key": {"rest_jwt.key": b"j"},
    "mariadb-password": {"password": b"p"},
    "db-password": {"password": b"p"},
    "db-ca": {"ca.crt": b"c"},
    "db-client": {"tls.crt": b"c", "tls.key": b"k"},
}
EXTERNAL = {
    "slurmNodes__accounting__externalDB__enabled": True,
    "slurmNodes__accounting__mariadbOperator__enabled": False,
}
WORKLOADS: dict[tuple[Resource, str], int] = {
    (STATEFUL_SETS, "controller"): 1,
    (DEPLOYMENTS, "sconfigcontroller"): 1,
    (DEPLOYMENTS, "accounting"): 1,
    (DEPLOYMENTS, "slurm-exporter"): 1,
}


def resource(**changes: Any) -> SlurmCluster:
    plain = {"maintenance": "skipPopulateJail", "slurmNodes__worker__size": 3, **changes}
    return SlurmCluster.model_validate(changed(manifest("1.22", "SlurmCluster"), plain))


def plan(given: SlurmCluster, *, missing: str = "", **observed: Any) -> ClusterPlan:
    """Of a cluster whose pods are all ready, but for the `missing` workload's."""
    assert given.spec
    nodes = given.spec.slurm_nodes
    wanted = {
        **WORKLOADS,
        (STATEFUL_SETS, "worker"): 3,
        (STATEFUL_SETS, "login"): nodes.login.size,
        (DEPLOYMENTS, "rest"): nodes.rest.size,
    }
    rollouts = {key: Rollout(1, 1, size, size, size) for key, size in wanted.items() if key[1] != missing}
    seen = Observed(**{"secrets": SECRETS, "rollouts": rollouts, "database_ready": True, **observed})
    return decide(given, seen)


def conditions(given: ClusterPlan) -> dict[str, tuple[str, str]]:
    return {each.type: (each.status, each.reason) for each in given.conditions}


def test_a_cluster_whose_pods_are_ready_is_available_and_counted() -> None:
    given = plan(resource(slurmNodes__login__size=2))
    assert given.fields == {
        "phase": "Available",
        "readyWorkers": 3,
        "readyLogin": 2,
        "readySConfigController": 1,
    }
    assert {status for kind, (status, _) in conditions(given).items() if kind != "Degraded"} == {"True"}


@pytest.mark.parametrize(
    ("workload", "kind"),
    [
        ("controller", "ControllersAvailable"),
        ("worker", "WorkersAvailable"),
        ("login", "LoginAvailable"),
        ("accounting", "AccountingAvailable"),
        ("sconfigcontroller", "SConfigControllerAvailable"),
        ("rest", "RestAvailable"),
    ],
)
def test_a_missing_workload_is_one_components_matter_and_no_crash(workload: str, kind: str) -> None:
    given = plan(resource(), missing=workload)
    assert given.fields["phase"] == "Not available"
    said = conditions(given)
    assert said[kind] == ("False", "NotAvailable")
    others = {each: found for each, found in said.items() if each not in (kind, "Degraded")}
    assert {status for status, _ in others.values()} == {"True"}


def test_a_cluster_with_a_database_elsewhere_becomes_available() -> None:
    given = plan(resource(**EXTERNAL), database_ready=None)
    assert given.fields["phase"] == "Available"
    assert not {each.manifest["kind"] for each in given.desired} & {"MariaDB", "Grant", "Database"}


def test_accounting_waits_for_the_database_that_is_here() -> None:
    given = plan(resource(), database_ready=False)
    assert conditions(given)["AccountingAvailable"] == ("False", "NotAvailable")


def test_slurmrestd_needs_no_accounting_and_its_absence_is_no_fault() -> None:
    given = plan(resource(slurmNodes__accounting__enabled=False))
    assert given.fields["phase"] == "Available"
    assert conditions(given)["AccountingAvailable"] == ("False", "NotAvailable")
    assert "rest" in {each.key.name for each in given.desired}


def test_what_is_disabled_is_taken_away() -> None:
    given = plan(resource(slurmNodes__rest__enabled=False, slurmNodes__exporter__enabled=False))
    assert not {"rest", "slurm-exporter"} & {each.key.name for each in given.desired}
    assert {DEPLOYMENTS, POD_MONITORS} <= set(given.prune)


@pytest.mark.parametrize(
    "mode", ["downscale", "downscaleAndDeletePopulateJail", "downscaleAndOverwritePopulateJail"]
)
def test_maintenance_stops_everything_and_says_so(mode: str) -> None:
    given = plan(resource(maintenance=mode))
    replicas = {
        each.key.name: each.manifest["spec"]["replicas"]
        for each in given.desired
        if each.manifest["kind"] in ("StatefulSet", "Deployment")
    }
    assert set(replicas.values()) == {0}
    said = conditions(given)
    for kind in ("CommonAvailable", "ControllersAvailable", "WorkersAvailable", "LoginAvailable"):
        assert said[kind] == ("False", "Maintenance")
    assert given.fields["phase"] == "Not available"


@pytest.mark.parametrize("size", [0, 3])
def test_workers_that_nobody_wants_are_not_missed(size: int) -> None:
    given = plan(resource(slurmNodes__worker__size=size))
    assert given.fields["phase"] == "Available"
    assert conditions(given)["WorkersAvailable"][0] == ("True" if size else "False")


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"maintenance": "none"},
        {"slurmNodes__controller__k8sNodeFilterName": "nowhere"},
        {"slurmNodes__login__sshRootPublicKeys": ["a\x00b"]},
    ],
)
def test_no_condition_is_ever_unknown(changes: dict[str, Any]) -> None:
    assert "Unknown" not in {status for status, _ in conditions(plan(resource(**changes))).values()}


def test_names_in_another_dns_domain() -> None:
    given = plan(resource(), domain="hpc.example")
    texts = str([each.manifest for each in given.desired])
    assert "aurora-accounting-svc.slurm.svc.hpc.example" in texts
    assert "cluster.local" not in texts


def test_files_of_slurm_do_not_depend_on_the_machines_architecture() -> None:
    given = plan(resource())
    [files] = [each for each in given.desired if each.key.name == "aurora-slurm-configs"
               and each.manifest["kind"] == "ConfigMap"]  # fmt: skip
    assert "x86_64" not in files.manifest["data"]["slurm.conf"]
