"""Charts of the Soperator API: values as its users have them come to resources that our validation takes."""

import json
from typing import Any

import pytest
import yaml

from dev.binaries import Module
from scripts.values import SCHEMAS
from slurmery.api.nebius.slurmcluster import SlurmClusterSpec
from slurmery.api.validation import validate
from slurmery.cli.programs import linked
from slurmery.health.active.script import options
from slurmery.onnode.checks.check import checks
from tests.unit.charts.rendering import CHARTS, HELMS, Object, RenderError, lint, one, render

GROUP = "slurm.nebius.ai/"
FILES = [
    (chart, path.name)
    for chart in ("slurm-cluster", "slurm-cluster-storage", "nodesets", "soperator-activechecks")
    for path in sorted((CHARTS / chart / "ci").iterdir())
]
WORKER: Object = {"slurmd": {"resources": {"cpu": 1, "memory": "1Gi"}}}


def spec(values: Object, *files: str) -> Object:
    [cluster] = [each for each in render("slurm-cluster", values, *files) if each["kind"] == "SlurmCluster"]
    found: Object = cluster["spec"]
    return found


@pytest.mark.parametrize("helm", HELMS, ids=lambda helm: helm.folder)
@pytest.mark.parametrize(("chart", "file"), FILES)
def test_both_helms_are_content_and_so_are_we(helm: Module, chart: str, file: str) -> None:
    lint(chart, file, helm=helm)

    objects = render(chart, {}, file, helm=helm)
    assert objects
    for each in objects:
        if each["apiVersion"].startswith(GROUP):
            assert not validate(each), each["metadata"]["name"]


@pytest.mark.parametrize(("chart", "file"), FILES)
def test_both_helms_render_the_same(chart: str, file: str) -> None:
    three, four = (render(chart, {}, file, helm=helm) for helm in HELMS)

    assert three == four


@pytest.mark.parametrize("chart", SCHEMAS)
def test_every_value_that_is_documented_is_known(chart: str) -> None:
    lint(chart, helm=HELMS[0])
    schema = json.loads((CHARTS / chart / "values.schema.json").read_text())

    assert set(yaml.safe_load((CHARTS / chart / "values.yaml").read_text())) <= set(schema["properties"])


def test_every_field_of_the_api_is_a_value() -> None:
    values = SCHEMAS["slurm-cluster"]()["properties"]

    assert {field.alias or name for name, field in SlurmClusterSpec.model_fields.items()} <= set(values)


def test_a_cluster_without_workers_of_its_own_is_one_of_5_0() -> None:
    assert "worker" not in spec({})["slurmNodes"]
    assert "clusterType" not in spec({})
    own = spec({"slurmNodes": {"worker": WORKER}})
    assert own["slurmNodes"]["worker"]["volumes"]["jail"] == {"volumeSourceName": "jail"}
    assert own["slurmConfig"]["maxJobCount"] == 10000
    assert "maxJobCount" not in spec({})["slurmConfig"]


@pytest.mark.parametrize("helm", HELMS, ids=lambda helm: helm.folder)
def test_null_is_no_value(helm: Module) -> None:
    nothing: Object = {
        "annotations": None,
        "secrets": None,
        "slurmConfig": None,
        "sConfigController": {"serviceAccount": None},
        "slurmScripts": {"builtIn": None},
        "slurmNodes": {
            "sssd": None,
            "accounting": {"mariadbOperator": None, "externalDB": None, "slurmConfig": None},
            "controller": {"serviceAccount": None},
            "exporter": {"serviceAccount": None, "exporterContainer": None},
            "worker": {**WORKER, "munge": None},
        },
    }
    [cluster] = [
        each for each in render("slurm-cluster", nothing, helm=helm) if each["kind"] == "SlurmCluster"
    ]

    assert not validate(cluster)


def test_names_of_resources_become_those_of_kubernetes() -> None:
    worker = spec({}, "soperator-1.22-values.yaml")["slurmNodes"]["worker"]

    assert worker["slurmd"]["resources"] == {
        "cpu": "156000m",
        "memory": "1220Gi",
        "ephemeral-storage": "55Gi",
        "nvidia.com/gpu": 8,
    }


def test_a_named_source_takes_the_place_of_the_usual_claim() -> None:
    spool = {"slurmNodes": {"controller": {"volumes": {"spool": {"volumeSourceName": "controller-spool"}}}}}

    assert spec(spool)["slurmNodes"]["controller"]["volumes"]["spool"] == {
        "volumeSourceName": "controller-spool"
    }
    assert "volumeClaimTemplateSpec" in spec({})["slurmNodes"]["controller"]["volumes"]["spool"]


def test_what_the_chart_needs_for_claims_does_not_reach_the_cluster() -> None:
    objects = render("slurm-cluster", {}, "soperator-1.22-values.yaml")
    [cluster] = [each for each in objects if each["kind"] == "SlurmCluster"]

    claim = one(objects, "PersistentVolumeClaim", "jail-pvc")
    assert claim["spec"] == {
        "accessModes": ["ReadWriteMany"],
        "storageClassName": "shared",
        "resources": {"requests": {"storage": "2Ti"}},
    }
    assert claim["metadata"]["annotations"] == {"helm.sh/resource-policy": "keep"}
    keys = {key for source in cluster["spec"]["volumeSources"] for key in source}
    assert keys == {"name", "persistentVolumeClaim", "configMap"}


def test_every_component_has_a_priority_class_that_is_made() -> None:
    objects = render("slurm-cluster", {}, "soperator-1.22-values.yaml")
    made = {each["metadata"]["name"]: each["value"] for each in objects if each["kind"] == "PriorityClass"}
    [cluster] = [each["spec"] for each in objects if each["kind"] == "SlurmCluster"]

    used = {node["priorityClass"] for node in cluster["slurmNodes"].values()}
    used |= {cluster["populateJail"]["priorityClass"], cluster["sConfigController"]["node"]["priorityClass"]}
    used |= {cluster["slurmNodes"]["accounting"]["mariadbOperator"]["priorityClassName"]}
    assert used == set(made)
    assert (made["aurora-slurm-worker"], made["aurora-slurm-controller"]) == (1000000, 1000001)


def test_a_directory_service_is_for_all_who_have_users() -> None:
    nodes = spec({}, "soperator-5.0-values.yaml")["slurmNodes"]

    for name in ("controller", "login"):
        assert nodes[name]["sssd"]["image"] == "registry.example.com/sssd:2.9"
        assert nodes[name]["sssdConfSecretRefName"] == "sssd"


def test_accounts_that_are_named_are_made_unless_somebody_else_does() -> None:
    objects = render("slurm-cluster", {}, "soperator-5.0-values.yaml")

    made = {each["metadata"]["name"] for each in objects if each["kind"] == "ServiceAccount"}
    assert made == {"borealis-power", "borealis-writer"}
    assert spec({}, "soperator-5.0-values.yaml")["slurmNodes"]["exporter"]["serviceAccountName"] == "metrics"


@pytest.mark.parametrize(
    "file", ["soperator-1.22-values.yaml", "soperator-5.0-values.yaml", "small-values.yaml"]
)
def test_the_exporter_is_a_program_of_ours(file: str) -> None:
    container = spec({}, file)["slurmNodes"]["exporter"]["exporterContainer"]

    program, _ = linked(container["command"][0].rpartition("/")[2]) or pytest.fail("no such program")
    assert program.name == "exporter"


def scripts(values: Object, *files: str) -> dict[str, str]:
    found: dict[str, str] = one(render("slurm-cluster", values, *files), "ConfigMap", "slurm-scripts")["data"]
    return found


def test_the_images_own_list_of_checks_holds_until_somebody_wants_another() -> None:
    upstream = {"slurmScripts": {"builtIn": {"boot_disk_full.sh": {"enabled": True, "customConfig": None}}}}

    assert set(scripts({})) == {"prolog.sh", "epilog.sh", "hc_program.sh"}
    assert "checks.json" not in scripts(upstream)


def test_checks_can_be_left_out_replaced_and_added() -> None:
    changed = scripts({}, "soperator-5.0-values.yaml")
    good, faults = checks(json.loads(changed["checks.json"]))

    names = [check.name for check in good]
    assert not faults
    assert "gpu_health_check" not in names
    assert {"boot_disk_full", "own", "extra"} <= set(names)
    assert changed["extra.sh"] == "echo borealis"


def test_scripts_of_1_22_keep_their_names_there() -> None:
    old = scripts({}, "soperator-1.22-values.yaml")

    assert old["epilog.sh"] == "#!/bin/bash\ntrue\n"
    assert old["greeting.sh"] == "echo aurora\n"


def nodeset(values: Object) -> Object:
    [found] = [each for each in render("nodesets", values) if each["kind"] == "NodeSet"]
    return found


def entry(**fields: Any) -> Object:
    slurmd = {**WORKER["slurmd"], "volumes": {"jail": {"persistentVolumeClaim": {"claimName": "jail-pvc"}}}}
    return {"name": "main", "slurmd": slurmd, "munge": WORKER["slurmd"], **fields}


def test_workers_have_the_scripts_that_slurm_conf_names() -> None:
    volumes = nodeset({"clusterName": "a", "nodesets": [entry()]})["spec"]["slurmd"]["volumes"]

    for mounts in (volumes["customVolumeMounts"], volumes["jailSubMounts"]):
        [mount] = mounts
        assert mount["mountPath"] == "/opt/slurm_scripts/"
        assert mount["volumeSource"]["configMap"]["name"] == "slurm-scripts"


def test_a_claim_for_the_spool_comes_and_goes_with_the_pod() -> None:
    one = entry()
    one["slurmd"]["volumes"]["spool"] = {"volumeClaimTemplateSpec": {"accessModes": ["ReadWriteOnce"]}}
    spool = nodeset({"clusterName": "a", "nodesets": [one]})["spec"]["slurmd"]["volumes"]["spool"]

    assert spool == {"ephemeral": {"volumeClaimTemplate": {"spec": {"accessModes": ["ReadWriteOnce"]}}}}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("jail", "jail"),
        ("mlPerfSD", "ml-perf-sd"),
        ("HTMLParser", "html-parser"),
        ("  big data__v2 ", "big-data-v2"),
        ("disk1", "disk1"),
    ],
)
def test_volumes_have_names_that_kubernetes_takes(given: str, expected: str) -> None:
    mounts = {"volume": {"jailSubMounts": [{"name": given, "size": "1Gi"}]}}

    assert one(
        render("slurm-cluster-storage", mounts), "PersistentVolumeClaim", f"jail-submount-{expected}-pvc"
    )


def test_only_devices_are_mounted_by_pods() -> None:
    devices = render("slurm-cluster-storage", {}, "filestore-values.yaml")
    claims = {each["metadata"]["name"] for each in devices if each["kind"] == "PersistentVolumeClaim"}
    mounts = {each["metadata"]["name"] for each in devices if each["kind"] == "DaemonSet"}

    assert claims == {"jail-pvc", "controller-spool-pvc", "accounting-pvc", "jail-submount-ml-perf-sd-pvc"}
    assert mounts == {claim.replace("-pvc", "-mount") for claim in claims}
    kinds = {each["kind"] for each in render("slurm-cluster-storage")}
    assert kinds == {"PersistentVolumeClaim"}


@pytest.mark.parametrize(
    ("cluster", "expected"),
    [
        ("", set()),
        ("cpu", {"create-user-soperatorchecks", "ssh-check", "cpu-perf", "mem-perf", "disk-perf"}),
    ],
)
def test_nothing_is_checked_that_was_not_asked_for(cluster: str, expected: set[str]) -> None:
    rendered = render("soperator-activechecks", {"clusterType": cluster})

    assert {each["metadata"]["name"] for each in rendered if each["kind"] == "ActiveCheck"} == expected


def test_a_check_waits_for_none_that_was_left_out() -> None:
    left_out = {"clusterType": "cpu", "checks": {"create-user-soperatorchecks": {"enabled": False}}}

    for each in render("soperator-activechecks", left_out):
        assert not each.get("spec", {}).get("dependsOn")


def test_slurm_takes_every_script_that_is_shipped() -> None:
    gpu = [each for each in render("soperator-activechecks", {"clusterType": "gpu"}) if "spec" in each]
    texts = [each["spec"]["slurmJobSpec"]["sbatchScript"] for each in gpu if "slurmJobSpec" in each["spec"]]

    assert len(texts) == 7
    for text in texts:
        assert options(text, 0)["time_limit"]


@pytest.mark.parametrize("helm", HELMS, ids=lambda helm: helm.folder)
@pytest.mark.parametrize(
    ("chart", "values", "words"),
    [
        ("slurm-cluster", {"slurmNodes": {"login": {"sise": 1}}}, "sise"),
        ("slurm-cluster", {"maintenance": "of"}, "maintenance"),
        (
            "slurm-cluster",
            {"slurmNodes": {"worker": {"size": 1}}},
            "worker.slurmd.resources.cpu must be given",
        ),
        ("slurm-cluster", {"slurmNodes": {"accounting": {"enabled": True}}}, "accounting needs a database"),
        ("slurm-cluster", {"images": {"slurmctld": ""}}, "images.slurmctld, or slurmNodes.controller"),
        (
            "slurm-cluster",
            {
                "volumeSources": [
                    {"name": "jail", "createPVC": True, "persistentVolumeClaim": {"claimName": "a"}}
                ]
            },
            "jail has createPVC, so it must give size",
        ),
        (
            "slurm-cluster",
            {"slurmScripts": {"extra": {"a.sh": {"content": "true", "config": "none"}}}},
            "slurmScripts.extra.a.sh.config is no JSON object",
        ),
        ("nodesets", {"nodesets": [entry()]}, "must name the SlurmCluster"),
        (
            "nodesets",
            {"clusterName": "a", "nodesets": [{"name": "b"}]},
            "b.slurmd.resources.cpu must be given",
        ),
        (
            "nodesets",
            {"clusterName": "a", "nodesets": [entry(gpu={"enabled": True})]},
            "main.slurmd.resources.gpu must be given",
        ),
        ("nodesets", {"clusterName": "a", "nodesets": [entry(replcas=1)]}, "replcas"),
        (
            "slurm-cluster-storage",
            {"volume": {"jail": {"type": "nfs"}}},
            "volume.jail.nfs.server must be given",
        ),
        ("slurm-cluster-storage", {"volume": {"jail": {"type": "floppy"}}}, "volume/jail/type"),
        (
            "soperator-activechecks",
            {"checks": {"own": {"enabled": True}}},
            "checks.own: there is nothing to run",
        ),
        ("soperator-activechecks", {"clusterType": "tpu"}, "clusterType"),
        ("soperatorchecks", {"checks": {"replicas": 2, "manager": {"args": []}}}, "must hold --leader-elect"),
        (
            "soperatorchecks",
            {"checks": {"manager": {"controllersEnabled": {"x": True}}}},
            "controllersEnabled",
        ),
        (
            "nodeconfigurator",
            {"nodeConfigurator": {"enabled": True}},
            "rebooter.enabled and nodeConfigurator.enabled exclude",
        ),
    ],
    ids=lambda value: "" if isinstance(value, dict) else str(value).split()[0],
)
def test_what_cannot_work_is_refused_with_a_sentence(
    helm: Module, chart: str, values: Object, words: str
) -> None:
    with pytest.raises(RenderError, match=words):
        render(chart, values, helm=helm)
