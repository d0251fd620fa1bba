"""The kinds of slurm.nebius.ai on a real API server: taken, completed and shown as their users expect."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from dev.controlplane import ControlPlane
from slurmery.api.kinds import find
from tests.controlplane.api.nebius_specimens import (
    CHECK,
    CLUSTER,
    CONFIG,
    CONFIGURATOR,
    NEW_CLUSTER,
    NODESET,
    POWER,
    Manifest,
    changed,
    install,
    manifests,
    refusals,
)

NAMESPACE = "nebius-crds"
EVERY = [
    pytest.param(manifest, id=f"{version}-{manifest['kind']}-{manifest['metadata']['name']}")
    for version in ("1.22", "5.0")
    for manifest in manifests(version)
]


@pytest.fixture(scope="module")
def plane(control_plane: ControlPlane) -> ControlPlane:
    install(control_plane, NAMESPACE)
    return control_plane


def stored(plane: ControlPlane, manifest: Manifest) -> Manifest:
    arguments = ("create", "-n", NAMESPACE, "--validate=ignore", "-o", "json", "-f", "-")
    found: Manifest = json.loads(plane.kubectl(*arguments, stdin=json.dumps(manifest)))
    return found


def test_every_definition_is_established(plane: ControlPlane) -> None:
    found = json.loads(plane.kubectl("get", "crds", "-o", "json"))["items"]
    ours = [item for item in found if item["spec"]["group"] == "slurm.nebius.ai"]
    conditions = [{c["type"]: c["status"] for c in item["status"]["conditions"]} for item in ours]

    assert len(ours) == 6
    assert all(known["Established"] == known["NamesAccepted"] == "True" for known in conditions)
    assert not any("NonStructuralSchema" in known for known in conditions)


DROPPED = [
    "pause",
    "telemetry",
    "volumeSources[0].createPVC",
    "volumeSources[0].size",
    "volumeSources[0].storageClassName",
    "volumeSources[2].createPVC",
]


@pytest.mark.parametrize("manifest", EVERY)
def test_manifests_of_both_generations_are_taken_and_nothing_is_lost(
    plane: ControlPlane, manifest: Manifest
) -> None:
    found = stored(plane, changed(manifest))
    model = find(manifest["apiVersion"], manifest["kind"])
    assert model is not None

    lost = sorted(differences(manifest["spec"], found["spec"]))

    assert lost == (DROPPED if manifest["metadata"]["name"] == "aurora" else [])
    assert model.model_validate(found).metadata.namespace == NAMESPACE


def differences(written: Any, found: Any, path: str = "") -> list[str]:
    """Paths of what was written and is not found; more may be found."""
    if isinstance(written, Mapping) and isinstance(found, Mapping):
        return [
            lost
            for name, value in written.items()
            for lost in differences(value, found.get(name, ...), f"{path}.{name}".lstrip("."))
        ]
    if isinstance(written, list) and isinstance(found, list) and len(written) == len(found):
        return [
            lost
            for index, value in enumerate(written)
            for lost in differences(value, found[index], f"{path}[{index}]")
        ]
    return [] if written == found else [path]


def test_a_null_spec_is_taken(plane: ControlPlane) -> None:
    kinds = (NODESET, CHECK, CONFIGURATOR, POWER)

    assert refusals(plane, NAMESPACE, [{**changed(kind), "spec": None} for kind in kinds]) == {}


def test_defaults_of_a_cluster_appear(plane: ControlPlane) -> None:
    bare = changed(
        NEW_CLUSTER,
        slurmConfig=None,
        plugStackConfig=None,
        partitionConfiguration={},
        topology={},
        cgroupVersion=None,
        maintenance=None,
    )
    spec = stored(plane, bare)["spec"]

    assert spec["clusterType"] == "gpu"
    assert (spec["maintenance"], spec["cgroupVersion"], spec["topology"]) == ("none", "v2", {"blockSize": 18})
    assert spec["partitionConfiguration"] == {"configType": "default"}
    assert spec["mpiConfig"] == {"pmixEnv": "OMPI_MCA_btl_tcp_if_include=eth0"}
    assert spec["slurmConfig"] == {
        "defCpuPerGPU": 4,
        "completeWait": 5,
        "epilog": "",
        "prolog": "",
        "taskProlog": "",
        "taskPluginParam": "",
        "maxJobCount": 20000,
        "messageTimeout": 60,
        "topologyPlugin": "topology/tree",
        "topologyParam": "SwitchAsNodeRank",
        "suspendTime": 1000000000,
        "resumeTimeout": 1800,
    }
    assert spec["plugStackConfig"] == {
        "pyxis": {
            "required": True,
            "containerImageSave": "/var/cache/enroot-container-images/",
            "importerPath": "/opt/slurm_scripts/pyxis_caching_importer.sh",
            "useSquashfuse": False,
        },
        "ncclDebug": {
            "required": False,
            "enabled": False,
            "logLevel": "INFO",
            "outputToFile": True,
            "outputToStdOut": False,
        },
        "ncclInspectorPreConf": {
            "required": False,
            "enabled": False,
            "profilerPlugin": "/usr/lib/x86_64-linux-gnu/libnccl-profiler-inspector.so",
            "dumpDir": "/opt/soperator-outputs/shared/nccl_profiles/%j/%s",
            "dumpVerbose": False,
            "dumpThreadIntervalMicroseconds": 1000000,
        },
        "customPlugins": [],
    }
    assert spec["slurmNodes"]["exporter"]["podMonitorConfig"] == {
        "jobLabel": "slurm-exporter",
        "interval": "30s",
        "scrapeTimeout": "20s",
    }
    assert spec["slurmNodes"]["rest"].items() >= {"threadCount": 3, "maxConnections": 10}.items()


def test_defaults_of_the_other_kinds_appear(plane: ControlPlane) -> None:
    nodeset = stored(
        plane,
        changed(
            NODESET,
            maxUnavailable=None,
            updateStrategy=None,
            replicas=None,
            slurmd__volumes={"jail": {"emptyDir": {}}},
        ),
    )["spec"]
    assert (nodeset["maxUnavailable"], nodeset["updateStrategy"], nodeset["replicas"]) == (
        500,
        "rollingUpdate",
        1,
    )
    assert nodeset["slurmd"]["volumes"] == {
        "jail": {"emptyDir": {}},
        "spool": {"emptyDir": {}},
        "sharedMemorySize": "64Gi",
        "persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Delete", "whenScaled": "Delete"},
    }
    configurator = stored(plane, {**changed(CONFIGURATOR), "spec": {}})["spec"]
    assert configurator == {
        "rebooter": {"enabled": True, "evictionMethod": "evict", "logLevel": "info", "resources": {}},
        "hostNetwork": True,
        "hostIPC": False,
        "shareProcessNamespace": False,
    }
    check = stored(plane, {**changed(CHECK), "spec": {"name": "a", "slurmClusterRefName": "b"}})["spec"]
    assert check == {
        "name": "a",
        "slurmClusterRefName": "b",
        "schedule": "0 0 1 1 *",
        "suspend": True,
        "activeDeadlineSeconds": 1800,
        "successfulJobsHistoryLimit": 3,
        "failedJobsHistoryLimit": 16,
        "runAfterCreation": True,
        "checkType": "k8sJob",
    }


CONDITION = {
    "status": "True",
    "reason": "Success",
    "message": "",
    "lastTransitionTime": "2026-01-31T08:00:00Z",
}
JOB = {"lastJobName": "dcgmi-1", "lastJobStatus": "Complete"}
SLURM_JOBS = {
    "lastJobId": "7",
    "lastJobName": "dcgmi",
    "lastJobState": "Degraded",
    "lastRunId": "7",
    "lastRunStatus": "Failed",
    "lastRunFailJobsAndReasons": [{"jobID": "7", "reason": "bad GPU"}],
    "lastRunSubmitTime": "2026-01-31T08:00:00Z",
}
SHOWN: dict[str, tuple[Manifest, Manifest, dict[str, str], list[str]]] = {
    "slurmclusters": (
        CLUSTER,
        {
            "phase": "Not available",
            "readyWorkers": 8,
            "readyLogin": 2,
            "readySConfigController": 1,
            "conditions": [
                {**CONDITION, "type": "ControllersAvailable"},
                {**CONDITION, "type": "SConfigControllerAvailable", "status": "False"},
                {**CONDITION, "type": "AccountingAvailable", "status": "Unknown"},
            ],
        },
        {
            "STATUS": "Not available",
            "CONTROLLERS": "True",
            "WORKERS": "8",
            "LOGIN": "2",
            "SCONFIGCTRL": "False",
            "ACCOUNTING": "Unknown",
        },
        [],
    ),
    "nodesets.slurm.nebius.ai": (
        NODESET,
        {"phase": "Provisioning", "replicas": 3, "labelSelector": "a=b", "observedGeneration": 1},
        {"STATUS": "Provisioning", "DESIRED": "16", "READY": "3", "EPHEMERAL": "true"},
        [],
    ),
    "nodesetpowerstates": (
        POWER,
        {
            "activeCount": 3,
            "nodeStates": {"0": {"phase": "Running", "podName": "gpu-0", "slurmState": "IDLE"}},
            "conditions": [{**CONDITION, "type": "Ready"}],
        },
        {"NODESET": "gpu", "ACTIVE": "3", "READY": "True", "AGE": ""},
        [],
    ),
    "activechecks": (
        CHECK,
        {"k8sJobsStatus": JOB, "slurmJobsStatus": SLURM_JOBS, "updateStatus": "succeeded"},
        {
            "TYPE": "slurmJob",
            "INIT": "true",
            "SUSPEND": "false",
            "SCHEDULE": "0 */6 * * *",
            "K8S JOB STATUS": "Complete",
            "SLURM JOB STATUS": "Degraded",
            "LAST JOB": "dcgmi",
            "LAST JOB ID": "7",
            "SLURM SUBMIT TIME": "",
            "AGE": "",
        },
        ["K8S STATUS", "SLURM STATUS", "SLURM ID"],
    ),
    "nodeconfigurators": (
        CONFIGURATOR,
        {"reason": "", "observedGeneration": 1},
        {"REBOOTER ENABLED": "true", "NODECONFIGURATOR ENABLED": "false", "AGE": ""},
        ["CUSTOMCONTAINER ENABLED"],
    ),
    "jailedconfigs": (
        CONFIG,
        {
            "conditions": [
                {**CONDITION, "type": "FilesWritten"},
                {**CONDITION, "type": "UpdateActionsCompleted", "reason": "Refresh"},
            ]
        },
        {
            "FILES WRITTEN": "Success",
            "RECONFIGURATION STATUS": "Refresh",
            "JAILED PATH": "/etc/motd",
            "AGE": "",
        },
        [],
    ),
}


@pytest.mark.parametrize("resource", SHOWN)
def test_kubectl_shows_the_columns(plane: ControlPlane, resource: str) -> None:
    manifest, status, columns, wide = SHOWN[resource]
    name = stored(plane, {**changed(manifest), "status": status})["metadata"]["name"]
    where = ("-n", NAMESPACE, resource, name)
    assert plane.kubectl("get", *where, "-o", "jsonpath={.status}") == ""
    patch = json.dumps({"status": status})
    plane.kubectl("patch", *where, "--subresource=status", "--type=merge", "-p", patch)

    narrow, broad = (table(plane.kubectl("get", *where, *layout)) for layout in ((), ("-o", "wide")))

    assert list(narrow) == ["NAME", *columns]
    assert sorted(broad) == sorted(["NAME", *columns, *wide])
    assert [
        (title, narrow[title]) for title, value in columns.items() if narrow[title] != value and value
    ] == []


def table(text: str) -> dict[str, str]:
    """The only row of a table; titles are set apart by at least two spaces, cells stand under them."""
    titles, row = text.splitlines()
    starts = [0, *(i for i in range(2, len(titles)) if titles[i - 2 : i] == "  " and titles[i] != " ")]
    ends = [*starts[1:], None]
    return {
        titles[start:end].strip(): row[start:end].strip() for start, end in zip(starts, ends, strict=True)
    }


def test_a_node_set_can_be_scaled(plane: ControlPlane) -> None:
    name = stored(plane, changed(NODESET))["metadata"]["name"]
    target = f"nodesets.slurm.nebius.ai/{name}"
    plane.kubectl("scale", "-n", NAMESPACE, target, "--replicas=5")

    assert plane.kubectl("get", "-n", NAMESPACE, target, "-o", "jsonpath={.spec.replicas}") == "5"


@pytest.mark.parametrize(
    ("path", "sentences"),
    [
        (
            "slurmcluster.spec.slurmNodes.worker",
            ["The nodes that run jobs", "maxUnavailable", "or a percentage"],
        ),
        ("slurmcluster.spec.slurmConfig.defMemPerNode", ["1048576 in a cluster with slurmNodes.worker"]),
        ("slurmcluster.spec.volumeSources.persistentVolumeClaim", ["claimName"]),
        ("slurmcluster.spec.maintenance", ["downscaleAndDeletePopulateJail", "skipPopulateJail"]),
        ("nodesetpowerstate.spec.activeNodes", ["Ordinals of the nodes"]),
        ("activecheck.spec.failureReactions.drainSlurmNode", ["Start of the drain reason"]),
        ("nodeconfigurator.spec.rebooter", ["Drains and reboots nodes"]),
        ("jailedconfig.spec.items", ["Absolute path of the file"]),
    ],
)
def test_kubectl_explains(plane: ControlPlane, path: str, sentences: list[str]) -> None:
    text = " ".join(plane.kubectl("explain", path).split())

    assert [sentence for sentence in sentences if sentence not in text] == []
