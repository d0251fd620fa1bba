"""The objects of a Controller fit together, and what users say of them counts."""

import json
from hashlib import sha256
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slurmery.kube.meta import Manifest
from slurmery.slinky.controller.decide import decide
from slurmery.slinky.controller.observed import Observed
from tests.unit.slinky.clusters import controller, world

SHARED = {"enabled": True, "existingClaim": "shared"}
RWX = frozenset({"ReadWriteMany"})


def objects(observed: Observed | None = None, /, **spec: Any) -> dict[str, Manifest]:
    """What is desired, by kind and name."""
    plan = decide(controller(**spec), observed or world())
    manifests = [desired.manifest for desired in plan.desired]
    return {f"{each['kind']}/{each['metadata']['name']}": each for each in manifests}


def pod(observed: Observed | None = None, /, **spec: Any) -> Manifest:
    template: Manifest = objects(observed, **spec)["StatefulSet/slurm-controller"]["spec"]["template"]
    return template


def container(name: str, spec: Manifest) -> Manifest:
    both = [*spec["initContainers"], *spec["containers"]]
    return next(each for each in both if each["name"] == name)


@pytest.mark.parametrize("backups", [0, 1, 4])
def test_selectors_pods_and_services_fit_together(backups: int) -> None:
    ha: dict[str, Any] = {"ha": {"enabled": True, "backups": backups}, "persistence": SHARED}
    found = objects(world(claim_modes=RWX), **(ha if backups else {}))
    workload = found["StatefulSet/slurm-controller"]["spec"]
    template = workload["template"]
    assert workload["replicas"] == 1 + backups
    assert workload["selector"]["matchLabels"].items() <= template["metadata"]["labels"].items()
    for service in ("Service/slurm-controller", "Service/slurm-controller-internal"):
        spec = found[service]["spec"]
        labels = {**template["metadata"]["labels"], "controller.slinky.slurm.net/active": "true"}
        assert spec["selector"].items() <= labels.items()
        ports = container("slurmctld", template["spec"])["ports"]
        assert {port["targetPort"] for port in spec["ports"]} <= {port["name"] for port in ports}


def test_the_internal_service_is_headless_and_leads_to_pods_that_are_not_ready() -> None:
    spec = objects()["Service/slurm-controller-internal"]["spec"]
    assert (spec["clusterIP"], spec["publishNotReadyAddresses"]) == ("None", True)
    assert [port["port"] for port in spec["ports"]] == [6817]


def test_each_of_several_slurmctld_keeps_its_address_while_its_pod_is_gone() -> None:
    found = objects(world(claim_modes=RWX), ha={"enabled": True}, persistence=SHARED)
    for pod_name in ("slurm-controller-0", "slurm-controller-1"):
        spec = found[f"Service/{pod_name}"]["spec"]
        assert "clusterIP" not in spec
        assert spec["selector"]["statefulset.kubernetes.io/pod-name"] == pod_name
    assert "Service/slurm-controller-0" not in objects()


def test_the_only_slurmctld_is_reachable_without_our_doing() -> None:
    found = objects()
    selector = found["Service/slurm-controller"]["spec"]["selector"]
    assert selector["controller.slinky.slurm.net/active"] == "true"
    assert selector.items() <= pod()["metadata"]["labels"].items()


def test_of_several_slurmctld_none_is_born_active() -> None:
    labels = pod(world(claim_modes=RWX), ha={"enabled": True}, persistence=SHARED)["metadata"]["labels"]
    assert "controller.slinky.slurm.net/active" not in labels


def test_a_service_port_of_the_users_comes_beside_slurms_own() -> None:
    service = {"port": 7000, "nodePort": 32500, "spec": {"externalIPs": ["192.0.2.1"]}}
    spec = objects(service=service)["Service/slurm-controller"]["spec"]
    assert "externalIPs" not in spec
    assert [(port["port"], port.get("nodePort")) for port in spec["ports"]] == [(7000, 32500), (6817, None)]


def test_standbys_count_as_ready_when_they_live() -> None:
    def path(**spec: Any) -> str:
        found = pod(world(claim_modes=RWX), persistence=SHARED, **spec)["spec"]
        return str(container("slurmctld", found)["readinessProbe"]["httpGet"]["path"])

    assert path() == "/readyz"
    assert path(ha={"enabled": True}) == "/livez"


def test_two_slurmctld_never_share_a_kubernetes_node() -> None:
    mine = {"labelSelector": {"matchLabels": {"x": "y"}}, "topologyKey": "zone"}
    required = "requiredDuringSchedulingIgnoredDuringExecution"
    found = pod(template={"spec": {"affinity": {"podAntiAffinity": {required: [mine]}}}})
    terms = found["spec"]["affinity"]["podAntiAffinity"][required]
    assert mine in terms
    assert {"app.kubernetes.io/instance": "slurm", "app.kubernetes.io/name": "slurmctld"} in [
        term["labelSelector"]["matchLabels"]
        for term in terms
        if term["topologyKey"] == "kubernetes.io/hostname"
    ]


@pytest.mark.parametrize(
    ("persistence", "volume", "claim"),
    [
        (None, None, {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "4Gi"}}}),
        (
            {"resources": {"requests": {"storage": "9Gi"}}, "storageClassName": "fast"},
            None,
            {
                "accessModes": ["ReadWriteOnce"],
                "resources": {"requests": {"storage": "9Gi"}},
                "storageClassName": "fast",
            },
        ),
        (SHARED, {"persistentVolumeClaim": {"claimName": "shared"}}, None),
        ({"enabled": False}, {"emptyDir": {}}, None),
    ],
)
def test_state_is_kept_where_the_user_wants(
    persistence: dict[str, Any] | None, volume: dict[str, Any] | None, claim: dict[str, Any] | None
) -> None:
    spec = {} if persistence is None else {"persistence": persistence}
    workload = objects(**spec)["StatefulSet/slurm-controller"]["spec"]
    volumes = {each["name"]: each for each in workload["template"]["spec"]["volumes"]}
    if volume:
        assert volumes["statesave"] == {"name": "statesave", **volume}
        assert "volumeClaimTemplates" not in workload
    else:
        assert workload["volumeClaimTemplates"] == [{"metadata": {"name": "statesave"}, "spec": claim}]
    mounts = {
        each["name"]: each["mountPath"]
        for each in workload["template"]["spec"]["containers"][0]["volumeMounts"]
    }
    assert mounts["statesave"] == "/var/spool/slurmctld/slurm_slurm"


def test_several_slurmctld_have_a_disruption_budget() -> None:
    assert not any(name.startswith("PodDisruptionBudget") for name in objects())
    found = objects(world(claim_modes=RWX), ha={"enabled": True}, persistence=SHARED)
    assert found["PodDisruptionBudget/slurm-controller"]["spec"]["maxUnavailable"] == 1


def test_side_containers_use_slurmctlds_image_unless_told() -> None:
    spec = pod(inplaceReconfigure=True, logfile={"image": "alpine:3"})["spec"]
    assert [each["name"] for each in spec["initContainers"]] == ["reconfigure", "logfile"]
    assert [each["image"] for each in spec["initContainers"]] == ["slurmctld:26.05", "alpine:3"]
    assert all(each["restartPolicy"] == "Always" for each in spec["initContainers"])


@pytest.mark.parametrize(
    "change",
    [
        {"slurm_key_hash": "k2"},
        {"jwt_key_hash": "j2"},
        {"config_maps": {"files": {"gres.conf": "new"}, "scripts": {"a.sh": "old"}}},
        {"config_maps": {"files": {"gres.conf": "old"}, "scripts": {"a.sh": "new"}}},
        {"config_maps": {"files": {"topology.conf": "old"}, "scripts": {"a.sh": "old"}}},
    ],
)
def test_whatever_slurmctld_reads_at_its_start_replaces_its_pod(change: dict[str, Any]) -> None:
    spec = {"configFileRefs": [{"name": "files"}], "prologScriptRefs": [{"name": "scripts"}]}
    before = {"config_maps": {"files": {"gres.conf": "old"}, "scripts": {"a.sh": "old"}}}
    assert pod(world(**before), **spec) != pod(world(**{**before, **change}), **spec)
    assert pod(world(**before), **spec) == pod(world(**before), **spec)


def test_a_changed_extra_conf_replaces_the_pod_unless_it_is_reconfigured_in_place() -> None:
    assert pod(extraConf="MinJobAge=1") != pod(extraConf="MinJobAge=2")
    in_place = {"inplaceReconfigure": True}
    assert pod(extraConf="MinJobAge=1", **in_place) == pod(extraConf="MinJobAge=2", **in_place)


def test_the_config_hash_is_upstreams_as_long_as_users_add_no_files() -> None:
    found = objects()
    files = found["ConfigMap/slurm-config"]["data"]
    expected = sha256((files["cgroup.conf"] + files["slurm.conf"]).encode()).hexdigest()
    annotations = pod()["metadata"]["annotations"]
    assert annotations["slinky.slurm.net/slurm-config-hash"] == expected


def test_what_only_kubectl_needs_to_know_does_not_reach_the_pods() -> None:
    noted = {"annotations": {"kubectl.kubernetes.io/last-applied-configuration": "{}"}}
    assert pod(metadata=noted) == pod()


def test_operator_labels_win_over_template_over_resource() -> None:
    metadata = {"labels": {"a": "cr", "b": "cr", "app.kubernetes.io/name": "cr"}}
    template = {"metadata": {"labels": {"b": "template", "app.kubernetes.io/instance": "template"}}}
    labels = pod(metadata=metadata, template=template)["metadata"]["labels"]
    assert (labels["a"], labels["b"]) == ("cr", "template")
    assert labels["app.kubernetes.io/name"] == "slurmctld"
    assert labels["app.kubernetes.io/instance"] == "slurm"


def test_users_may_run_slurmctld_their_way() -> None:
    mine = {"image": "x", "securityContext": {"runAsNonRoot": False, "runAsUser": 0}}
    found = container("slurmctld", pod(slurmctld=mine)["spec"])
    assert found["securityContext"] == {"runAsNonRoot": False, "runAsUser": 0, "runAsGroup": 401}


MONITORED = {"enabled": True, "serviceMonitor": {"enabled": True}}


def test_prometheus_finds_the_active_slurmctld_once() -> None:
    found = objects(metrics=MONITORED)
    spec = found["ServiceMonitor/slurm-controller"]["spec"]
    services = [each for name, each in found.items() if name.startswith("Service/")]
    chosen = [
        each["metadata"]["name"]
        for each in services
        if spec["selector"]["matchLabels"].items() <= each["metadata"]["labels"].items()
    ]
    assert chosen == ["slurm-controller"]
    assert [each["path"] for each in spec["endpoints"]] == [
        "/metrics/jobs",
        "/metrics/nodes",
        "/metrics/partitions",
        "/metrics/scheduler",
    ]


def test_endpoints_of_the_users_have_times_of_their_own_or_the_common_ones() -> None:
    monitor = {
        "enabled": True,
        "interval": "30s",
        "scrapeTimeout": "25s",
        "endpoints": [{"path": "/a", "interval": "5s"}, {"path": "/b", "scrapeTimeout": "1s"}],
    }
    found = objects(metrics={"enabled": True, "serviceMonitor": monitor})
    assert found["ServiceMonitor/slurm-controller"]["spec"]["endpoints"] == [
        {"path": "/a", "port": "slurmctld", "scheme": "http", "interval": "5s", "scrapeTimeout": "25s"},
        {"path": "/b", "port": "slurmctld", "scheme": "http", "interval": "30s", "scrapeTimeout": "1s"},
    ]


@pytest.mark.parametrize("metrics", [{}, {"enabled": True}, {"serviceMonitor": {"enabled": True}}])
def test_without_metrics_there_is_nothing_to_scrape(metrics: dict[str, Any]) -> None:
    assert "ServiceMonitor/slurm-controller" not in objects(metrics=metrics)


FILES = {name: {f"{name}-{key}.sh": key for key in "xyz"} for name in ("a", "b", "c")}


@given(st.permutations(list(FILES)), st.permutations(["x", "y", "z"]), st.permutations(["l1", "l2", "l3"]))
def test_the_order_of_what_is_read_does_not_matter(
    names: list[str], keys: list[str], labels: list[str]
) -> None:
    def manifests(names: list[str], keys: list[str], labels: list[str]) -> str:
        maps = {name: {f"{name}-{key}.sh": key for key in keys} for name in names}
        given = controller(
            metadata={"labels": dict.fromkeys(labels, "1")},
            prologScriptRefs=[{"name": name} for name in names],
        )
        plan = decide(given, world(config_maps=maps))
        return json.dumps([desired.manifest for desired in plan.desired], sort_keys=True)

    assert manifests(names, keys, labels) == manifests(list(FILES), ["x", "y", "z"], ["l1", "l2", "l3"])
