"""The slurmctld pod and what is around it."""

from typing import Any

import pytest

from slurmery.nebius.controller import build
from slurmery.nebius.errors import SpecError
from tests.unit.nebius.clusters import at, check, cluster, nodeset

VERSIONS = {"aurora-munge": "b" * 8, "aurora-rest-jwt-key": "a" * 8}


def pod(**changes: Any) -> Any:
    return build.stateful_set(cluster(**changes), {}).manifest["spec"]["template"]["spec"]


def slurmctld(**changes: Any) -> Any:
    return pod(**changes)["containers"][0]


@pytest.mark.parametrize("version", ["1.22", "5.0"])
def test_objects(version: str) -> None:
    found = cluster(version)
    objects = [*build.access(found), build.service(found), build.stateful_set(found, VERSIONS)]
    objects += [each for each in (build.placeholder(found), build.service_monitor(found)) if each]
    check(f"controller-{version}", objects)


def test_there_is_one_slurmctld_with_munge_before_it() -> None:
    manifest = build.stateful_set(cluster(slurmNodes__controller__customInitContainers=None), {}).manifest
    spec = manifest["spec"]

    assert spec["replicas"] == 1
    assert manifest["metadata"]["labels"]["slurm.nebius.ai/controller-type"] == "main"
    assert spec["selector"]["matchLabels"]["slurm.nebius.ai/controller-type"] == "main"
    assert [each["name"] for each in spec["template"]["spec"]["containers"]] == ["slurmctld"]
    assert [each["name"] for each in spec["template"]["spec"]["initContainers"]] == ["munge"]


@pytest.mark.parametrize(
    ("maintenance", "replicas"),
    [
        ("none", 1),
        ("skipPopulateJail", 1),
        ("downscale", 0),
        ("downscaleAndDeletePopulateJail", 0),
        ("downscaleAndOverwritePopulateJail", 0),
    ],
)
def test_maintenance_stops_it(maintenance: str, replicas: int) -> None:
    assert build.stateful_set(cluster(maintenance=maintenance), {}).manifest["spec"]["replicas"] == replicas


def test_custom_mounts_are_there_once() -> None:
    mounts = [each["mountPath"] for each in slurmctld()["volumeMounts"]]
    names = [each["name"] for each in pod()["volumes"]]

    assert mounts.count("/opt/slurm_scripts/") == 1
    assert len(names) == len(set(names))


def test_command_and_arguments_of_the_spec_are_taken() -> None:
    changes = {
        "slurmNodes__controller__slurmctld__command": ["a"],
        "slurmNodes__controller__slurmctld__args": ["b"],
    }
    assert (slurmctld(**changes)["command"], slurmctld(**changes)["args"]) == (["a"], ["b"])


def test_probes_of_the_spec_replace_ours() -> None:
    given = build.stateful_set(cluster("5.0"), {}).manifest["spec"]["template"]["spec"]["containers"][0]
    assert given["livenessProbe"] == {"exec": {"command": ["scontrol", "ping"]}, "periodSeconds": 30}
    assert given["readinessProbe"] == {"tcpSocket": {"port": "slurmctld"}}


@pytest.mark.parametrize("given", [None, True, False])
def test_the_user_namespace_is_as_the_spec_says(given: bool | None) -> None:
    assert pod(slurmNodes__controller__hostUsers=given).get("hostUsers") is given


def test_a_claim_is_made_where_the_spec_has_one() -> None:
    claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    spool = {"volumeClaimTemplateSpec": claim}
    spec = build.stateful_set(cluster(slurmNodes__controller__volumes__spool=spool), {}).manifest["spec"]

    assert [each["metadata"]["name"] for each in spec["volumeClaimTemplates"]] == ["controller-spool"]
    assert "controller-spool" not in [each["name"] for each in spec["template"]["spec"]["volumes"]]


def test_placeholders_sleep_and_use_nothing() -> None:
    placeholder = build.placeholder(cluster())
    assert placeholder is not None
    spec = placeholder.manifest["spec"]
    pod_spec = spec["template"]["spec"]
    everything = [*pod_spec["initContainers"], *pod_spec["containers"]]

    assert spec["updateStrategy"]["rollingUpdate"] == {"maxUnavailable": 1}
    assert [each["name"] for each in everything] == ["munge", "slurmctld", "warm-up"]
    assert all(each["command"] == ["sleep", "infinity"] for each in everything)
    assert all("resources" not in each for each in everything)
    assert "volumes" not in pod_spec
    assert pod_spec["nodeSelector"] == {"example.com/node-group": "system"}


def test_placeholders_are_not_for_the_newer_generation() -> None:
    assert build.placeholder(cluster("5.0")) is None


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        (
            {"slurmNodes__controller__k8sNodeFilterName": "moon"},
            r"slurmNodes.controller.k8sNodeFilterName: 'moon' is not",
        ),
        (
            {"slurmNodes__controller__volumes__spool": {"volumeSourceName": "moon"}},
            r"slurmNodes.controller.volumes.spool.volumeSourceName: 'moon' is not",
        ),
        ({"slurmNodes__controller__volumes__jail": {}}, r"slurmNodes.controller.volumes.jail: give either"),
        (
            {
                "slurmNodes__controller__volumes__customMounts": [
                    {"name": "jail", "mountPath": "/x", "volumeSourceName": "slurm-scripts"}
                ]
            },
            r"slurmNodes.controller.volumes: two different volumes are named 'jail'",
        ),
    ],
)
def test_what_cannot_be_is_refused_with_its_place(changes: dict[str, Any], complaint: str) -> None:
    with pytest.raises(SpecError, match=complaint):
        pod(**changes)


def test_slurmctld_switches_only_ephemeral_nodes_of_its_own() -> None:
    nodesets = (nodeset("cpu"), nodeset("gpu", ephemeralNodes=True), nodeset("big", ephemeralNodes=True))
    named = at("slurmNodes__controller__serviceAccountName", None)
    found = cluster("5.0", nodesets, **named)
    account, role, binding = (each.manifest for each in build.access(found))
    assert role["rules"] == [
        {
            "apiGroups": ["slurm.nebius.ai"],
            "resources": ["nodesetpowerstates"],
            "resourceNames": ["big", "gpu"],
            "verbs": ["get", "patch"],
        }
    ]
    assert binding["subjects"][0]["name"] == account["metadata"]["name"]
    template = build.stateful_set(found, {}).manifest["spec"]["template"]
    assert template["spec"]["serviceAccountName"] == account["metadata"]["name"]


def test_slurmctld_may_do_nothing_where_no_node_is_ephemeral() -> None:
    role, binding = (each.manifest for each in build.access(cluster("5.0", (nodeset("cpu"),))))
    assert role["rules"] == []
    assert binding["subjects"][0]["name"] == "borealis-controller"
    assert build.access(cluster("1.22")) == ()


def test_a_new_key_means_a_new_pod() -> None:
    def template(versions: dict[str, str]) -> Any:
        return build.stateful_set(cluster(), versions).manifest["spec"]["template"]

    assert template({"aurora-munge": "1"}) != template({"aurora-munge": "2"})
    assert template({"a": "1", "b": "2"}) == template({"b": "2", "a": "1"})


def scraped(**changes: Any) -> Any:
    monitor = build.service_monitor(cluster("5.0", **changes))
    assert monitor is not None
    return monitor.manifest["spec"]


def test_prometheus_scrapes_every_group_of_metrics() -> None:
    groups = ["jobs", "jobs-users-accts", "nodes", "partitions", "scheduler"]
    spec = scraped(slurmNodes__controller__openMetrics=None)

    assert [each["path"] for each in spec["endpoints"]] == [f"/metrics/{group}" for group in groups]
    assert {(each["port"], each["scheme"]) for each in spec["endpoints"]} == {("slurmctld", "http")}
    assert spec["namespaceSelector"] == {"matchNames": ["slurm"]}
    assert "jobLabel" not in spec


def test_prometheus_scrapes_what_the_spec_says() -> None:
    given = {"serviceMonitor": {"interval": "1m", "scrapeTimeout": "50s", "endpoints": ["nodes"]}}
    (endpoint,) = scraped(slurmNodes__controller__openMetrics=given)["endpoints"]
    assert (endpoint["path"], endpoint["interval"], endpoint["scrapeTimeout"]) == (
        "/metrics/nodes",
        "1m",
        "50s",
    )


def test_there_is_nothing_to_scrape_where_metrics_are_off() -> None:
    assert (
        build.service_monitor(cluster("5.0", slurmNodes__controller__openMetrics={"enabled": False})) is None
    )
    assert build.service_monitor(cluster()) is None
