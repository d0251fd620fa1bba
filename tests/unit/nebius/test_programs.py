"""What runs beside Slurm: the first content of the root, the writer of files, the exporter, the profile."""

from typing import Any

import pytest

from slurmery.kube.desired import Policy
from slurmery.kube.resources import DEPLOYMENTS
from slurmery.nebius import names
from slurmery.nebius.apparmor import app_armor_profile
from slurmery.nebius.errors import SpecError
from slurmery.nebius.exporter import build as exporter
from slurmery.nebius.exporter import legacy
from slurmery.nebius.populatejail import build as populate
from slurmery.nebius.sconfigcontroller import build as sconfig
from slurmery.nebius.slurmcluster.components import components
from slurmery.nebius.slurmcluster.observed import Observed
from tests.unit.nebius.clusters import at, check, cluster


@pytest.mark.parametrize("version", ["1.22", "5.0"])
def test_populate_jail(version: str) -> None:
    check(f"populate-jail-{version}", [populate.job(cluster(version))])


@pytest.mark.parametrize(
    ("changes", "overwrite"),
    [
        ({}, "0"),
        ({"populateJail__overwrite": True}, "1"),
        ({"maintenance": "downscaleAndOverwritePopulateJail"}, "1"),
        ({"maintenance": "downscaleAndDeletePopulateJail"}, "0"),
    ],
)
def test_content_is_replaced_only_when_it_is_said(changes: dict[str, Any], overwrite: str) -> None:
    job = populate.job(cluster(**changes))
    env = {
        each["name"]: each["value"]
        for each in job.manifest["spec"]["template"]["spec"]["containers"][0]["env"]
    }
    assert env == {"OVERWRITE": overwrite, "SLURM_CLUSTER_TYPE": "gpu"}
    assert job.policy is Policy.CREATE_ONCE


def test_a_snapshot_is_a_named_source() -> None:
    with pytest.raises(SpecError, match=r"jailSnapshotVolume.volumeSourceName is missing"):
        populate.job(cluster(populateJail__jailSnapshotVolume={"volumeClaimTemplateSpec": {}}))


def test_the_shared_root_must_have_a_source() -> None:
    with pytest.raises(SpecError, match="volumeSources: 'jail' is not the name"):
        sconfig.deployment(cluster(volumeSources=[]))


@pytest.mark.parametrize("given", [None, "high"])
def test_priority_classes_are_passed_on(given: str | None) -> None:
    found = cluster(
        populateJail__priorityClass=given,
        sConfigController__node__priorityClass=given,
        slurmNodes__exporter__priorityClass=given,
    )
    for each in (populate.job(found), sconfig.deployment(found), exporter.deployment(found)):
        assert each.manifest["spec"]["template"]["spec"].get("priorityClassName") == given


@pytest.mark.parametrize("version", ["1.22", "5.0"])
def test_sconfigcontroller(version: str) -> None:
    found = cluster(version)
    check(f"sconfigcontroller-{version}", [*sconfig.access(found), sconfig.deployment(found)])


def test_arguments_of_sconfigcontroller_come_in_the_order_of_the_contract() -> None:
    container = sconfig.deployment(cluster()).manifest["spec"]["template"]["spec"]["containers"][0]
    assert container["command"] == ["/usr/bin/sconfigcontroller"]
    assert container["args"] == [
        "--cluster-namespace=slurm",
        "--cluster-name=aurora",
        "--jail-path=/mnt/jail",
        "--slurmapiserver=http://aurora-rest-svc.slurm.svc:6820",
        "--leader-elect",
        "--reconfigure-poll-interval=20s",
        "--reconfigure-wait-timeout=1m",
    ]


@pytest.mark.parametrize(
    ("path", "complaint"),
    [
        ("sConfigController", "sConfigController is missing"),
        ("sConfigController__node", "sConfigController.node is missing"),
        ("sConfigController__container", "sConfigController.container is missing"),
    ],
)
def test_what_sconfigcontroller_lacks_is_named(path: str, complaint: str) -> None:
    with pytest.raises(SpecError, match=complaint):
        sconfig.deployment(cluster(**at(path, None)))


@pytest.mark.parametrize("version", ["1.22", "5.0"])
def test_exporter(version: str) -> None:
    found = cluster(version)
    objects = [*exporter.access(found), exporter.deployment(found), exporter.pod_monitor(found)]
    check(f"exporter-{version}", objects)


def test_the_exporter_is_told_where_slurm_is() -> None:
    container = exporter.deployment(cluster()).manifest["spec"]["template"]["spec"]["containers"][0]
    assert container["args"] == [
        "--cluster-namespace=slurm",
        "--cluster-name=aurora",
        "--slurm-api-server=http://aurora-rest-svc.slurm.svc:6820",
    ]
    assert {each["name"] for each in container["env"]} == {
        "SLURM_EXPORTER_CLUSTER_NAMESPACE",
        "SLURM_EXPORTER_CLUSTER_NAME",
        "SLURM_EXPORTER_SLURM_API_SERVER",
        "SLURM_EXPORTER_COLLECTION_INTERVAL",
    }
    assert container["resources"]["limits"] == {"memory": "256Mi"}


def test_the_exporter_may_run_anywhere_without_a_filter() -> None:
    spec = exporter.deployment(cluster(slurmNodes__exporter__k8sNodeFilterName="gone")).manifest["spec"]
    assert "nodeSelector" not in spec["template"]["spec"]


def test_our_relabeling_comes_before_the_users() -> None:
    spec = exporter.pod_monitor(cluster()).manifest["spec"]
    assert [each["port"] for each in spec["podMetricsEndpoints"]] == ["metrics", "monitoring"]
    for endpoint in spec["podMetricsEndpoints"]:
        assert endpoint["metricRelabelings"] == [
            {"action": "labeldrop", "regex": "pod|instance|container"},
            {"action": "labeldrop", "regex": "pod"},
        ]
        assert (endpoint["interval"], endpoint["scrapeTimeout"]) == ("30s", "20s")


def test_app_armor() -> None:
    check("apparmor", [app_armor_profile(cluster())])


OLD: dict[str, Any] = {
    "slurmNodes__exporter__enabled": True,
    "slurmNodes__exporter__exporter": {"image": "prometheus-slurm-exporter:0.20"},
    "slurmNodes__exporter__munge": {"image": "munge"},
}


def test_the_exporter_from_before_is_used_by_its_image() -> None:
    found = cluster(**OLD)
    assert legacy.chosen(found)
    assert not legacy.chosen(cluster())
    check("exporter-legacy", [*legacy.access(found), legacy.deployment(found)])


def test_in_place_of_ours_and_beside_the_same_monitor() -> None:
    [component] = [each for each in components(cluster(**OLD), Observed()) if each.name == names.EXPORTER]
    found = {(each.manifest["kind"], each.key.name) for each in component.desired}
    assert found == {
        ("ServiceAccount", "aurora-exporter-sa"),
        ("Role", "aurora-exporter-role"),
        ("RoleBinding", "aurora-exporter-role-binding"),
        ("Deployment", "exporter"),
        ("PodMonitor", "aurora"),
    }
    assert component.workload == (DEPLOYMENTS, "exporter")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"slurmNodes__exporter__munge": None}, "slurmNodes.exporter.munge is missing"),
        ({"slurmNodes__exporter__exporter__podTemplateNameRef": "mine"}, "PodTemplates are not merged"),
    ],
)
def test_what_it_cannot_do_without_is_named(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(SpecError, match=words):
        legacy.deployment(cluster(**{**OLD, **changes}))
