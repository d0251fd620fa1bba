"""The schemas of the slurm.nebius.ai kinds, held against what users of 1.22 and 5.0 know."""

import json
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest

from slurmery.api import nebius
from slurmery.api.crd import crd
from slurmery.api.resource import CustomResource, Model

KINDS = {kind.__name__: kind for kind in nebius.KINDS}
VERSIONS = {name: "v1" if name == "SlurmCluster" else "v1alpha1" for name in KINDS}

DEFAULTS: dict[str, dict[str, Any]] = {
    "SlurmCluster": {
        "clusterType": "gpu",
        "maintenance": "none",
        "populateJail.imagePullPolicy": "IfNotPresent",
        "populateJail.overwrite": False,
        "populateJail.appArmorProfile": "unconfined",
        "partitionConfiguration.configType": "default",
        "partitionConfiguration.partitions[].isAll": False,
        "slurmConfig": {},
        "slurmConfig.defCpuPerGPU": 4,
        "slurmConfig.completeWait": 5,
        "slurmConfig.epilog": "",
        "slurmConfig.prolog": "",
        "slurmConfig.taskProlog": "",
        "slurmConfig.taskPluginParam": "",
        "slurmConfig.maxJobCount": 20000,
        "slurmConfig.messageTimeout": 60,
        "slurmConfig.topologyPlugin": "topology/tree",
        "slurmConfig.topologyParam": "SwitchAsNodeRank",
        "slurmConfig.suspendTime": 1000000000,
        "slurmConfig.resumeTimeout": 1800,
        "cgroupVersion": "v2",
        "topology.blockSize": 18,
        "mpiConfig.pmixEnv": "OMPI_MCA_btl_tcp_if_include=eth0",
        "plugStackConfig": {},
        "plugStackConfig.pyxis.required": True,
        "plugStackConfig.pyxis.containerImageSave": "/var/cache/enroot-container-images/",
        "plugStackConfig.pyxis.importerPath": "/opt/slurm_scripts/pyxis_caching_importer.sh",
        "plugStackConfig.pyxis.useSquashfuse": False,
        "plugStackConfig.ncclDebug.required": False,
        "plugStackConfig.ncclDebug.enabled": False,
        "plugStackConfig.ncclDebug.logLevel": "INFO",
        "plugStackConfig.ncclDebug.outputToFile": True,
        "plugStackConfig.ncclDebug.outputToStdOut": False,
        "plugStackConfig.ncclInspectorPreConf": {"enabled": False},
        "plugStackConfig.ncclInspectorPreConf.required": False,
        "plugStackConfig.ncclInspectorPreConf.enabled": True,
        "plugStackConfig.ncclInspectorPreConf.profilerPlugin": (
            "/usr/lib/x86_64-linux-gnu/libnccl-profiler-inspector.so"
        ),
        "plugStackConfig.ncclInspectorPreConf.dumpDir": "/opt/soperator-outputs/shared/nccl_profiles/%j/%s",
        "plugStackConfig.ncclInspectorPreConf.dumpVerbose": False,
        "plugStackConfig.ncclInspectorPreConf.dumpThreadIntervalMicroseconds": 1000000,
        "plugStackConfig.customPlugins": [],
        "plugStackConfig.customPlugins[].required": False,
        "plugStackConfig.customPlugins[].arguments": {},
        "sConfigController.reconfigurePollInterval": "20s",
        "useDefaultAppArmorProfile": False,
        "slurmNodes.accounting.enabled": False,
        "slurmNodes.accounting.slurmdbd.imagePullPolicy": "IfNotPresent",
        "slurmNodes.accounting.slurmdbd.appArmorProfile": "unconfined",
        "slurmNodes.accounting.externalDB.enabled": False,
        "slurmNodes.accounting.externalDB.port": 3306,
        "slurmNodes.accounting.mariadbOperator.protectedSecret": False,
        "slurmNodes.accounting.mariadbOperator.metrics.enabled": True,
        "slurmNodes.accounting.slurmdbdConfig.archiveEvents": "yes",
        "slurmNodes.accounting.slurmdbdConfig.archiveJobs": "yes",
        "slurmNodes.accounting.slurmdbdConfig.archiveResvs": "yes",
        "slurmNodes.accounting.slurmdbdConfig.archiveSteps": "no",
        "slurmNodes.accounting.slurmdbdConfig.archiveSuspend": "no",
        "slurmNodes.accounting.slurmdbdConfig.archiveTXN": "no",
        "slurmNodes.accounting.slurmdbdConfig.archiveUsage": "yes",
        "slurmNodes.accounting.slurmdbdConfig.debugLevel": "info",
        "slurmNodes.accounting.slurmdbdConfig.tcpTimeout": 2,
        "slurmNodes.accounting.slurmdbdConfig.purgeEventAfter": "1month",
        "slurmNodes.accounting.slurmdbdConfig.purgeJobAfter": "12month",
        "slurmNodes.accounting.slurmdbdConfig.purgeResvAfter": "1month",
        "slurmNodes.accounting.slurmdbdConfig.purgeStepAfter": "1month",
        "slurmNodes.accounting.slurmdbdConfig.purgeSuspendAfter": "1month",
        "slurmNodes.accounting.slurmdbdConfig.purgeTXNAfter": "12month",
        "slurmNodes.accounting.slurmdbdConfig.purgeUsageAfter": "24month",
        "slurmNodes.accounting.slurmConfig.accountingStorageTRES": "CPU,Mem,Node,VMem,Gres/gpu",
        "slurmNodes.accounting.slurmConfig.jobAcctGatherFrequency": 0,
        "slurmNodes.accounting.slurmConfig.priorityWeightAge": 0,
        "slurmNodes.accounting.slurmConfig.priorityWeightFairshare": 0,
        "slurmNodes.accounting.slurmConfig.priorityWeightQOS": 0,
        "slurmNodes.controller.sssdDebugLevel": 0,
        "slurmNodes.controller.openMetrics": {},
        "slurmNodes.controller.openMetrics.enabled": True,
        "slurmNodes.controller.openMetrics.serviceMonitor.interval": "30s",
        "slurmNodes.controller.openMetrics.serviceMonitor.scrapeTimeout": "28s",
        "slurmNodes.controller.volumes.customMounts[].subPath": "",
        "slurmNodes.controller.volumes.customMounts[].readOnly": False,
        "slurmNodes.worker.maxUnavailable": "20%",
        "slurmNodes.worker.cgroupVersion": "v2",
        "slurmNodes.worker.enableGDRCopy": False,
        "slurmNodes.worker.volumes.sharedMemorySize": "64Gi",
        "slurmNodes.login.sshdServiceNodePort": 0,
        "slurmNodes.login.sssdDebugLevel": 0,
        "slurmNodes.login.userIsolation.enabled": False,
        "slurmNodes.login.userIsolation.cpuWeight": 100,
        "slurmNodes.exporter.enabled": False,
        "slurmNodes.exporter.podMonitorConfig": {},
        "slurmNodes.exporter.podMonitorConfig.jobLabel": "slurm-exporter",
        "slurmNodes.exporter.podMonitorConfig.interval": "30s",
        "slurmNodes.exporter.podMonitorConfig.scrapeTimeout": "20s",
        "slurmNodes.exporter.collectionInterval": "30s",
        "slurmNodes.exporter.maxCollectorInflight": 1,
        "slurmNodes.exporter.jobSource": "controller",
        "slurmNodes.exporter.accountingJobsLookback": "1h",
        "slurmNodes.rest.enabled": False,
        "slurmNodes.rest.threadCount": 3,
        "slurmNodes.rest.maxConnections": 10,
    },
    "NodeSet": {
        "replicas": 1,
        "maxUnavailable": 500,
        "updateStrategy": "rollingUpdate",
        "ephemeralNodes": False,
        "initialNumberEphemeralNodes": 1,
        "ephemeralTopologyWaitTimeout": 180,
        "enableHostUserNamespace": False,
        "workerInitRandomDelaySeconds": 0,
        "gpu.enabled": False,
        "gpu.nvidia.gdrCopyEnabled": False,
        "slurmd.image.pullPolicy": "IfNotPresent",
        "slurmd.cgroupVersion": "v2",
        "slurmd.port": 6818,
        "slurmd.security.appArmorProfile": "unconfined",
        "slurmd.volumes.spool": {"emptyDir": {}},
        "slurmd.volumes.sharedMemorySize": "64Gi",
        "slurmd.volumes.persistentVolumeClaimRetentionPolicy": {},
        "slurmd.volumes.persistentVolumeClaimRetentionPolicy.whenDeleted": "Delete",
        "slurmd.volumes.persistentVolumeClaimRetentionPolicy.whenScaled": "Delete",
        "sssdDebugLevel": 0,
        "nodeConfig.autoResume": True,
        "nodeConfig.static": "",
        "nodeConfig.dynamic": "",
        "docker.enabled": True,
        "topology.fabric": "root",
    },
    "NodeSetPowerState": {},
    "ActiveCheck": {
        "schedule": "0 0 1 1 *",
        "suspend": True,
        "activeDeadlineSeconds": 1800,
        "successfulJobsHistoryLimit": 3,
        "failedJobsHistoryLimit": 16,
        "runAfterCreation": True,
        "checkType": "k8sJob",
        "k8sJobSpec.jobContainer.appArmorProfile": "unconfined",
        "k8sJobSpec.jobContainer.imagePullPolicy": "IfNotPresent",
        "slurmJobSpec.eachWorkerJobArray": False,
        "slurmJobSpec.eachWorkerJobs": False,
        "slurmJobSpec.maxNumberOfJobs": 0,
    },
    "NodeConfigurator": {
        "rebooter": {"enabled": True},
        "rebooter.evictionMethod": "evict",
        "rebooter.logLevel": "info",
        "rebooter.resources": {},
        "hostNetwork": True,
        "hostIPC": False,
        "shareProcessNamespace": False,
    },
    "JailedConfig": {},
}

# Words of the schema beside defaults: enums, limits, list types.
WORDS: dict[str, dict[str, dict[str, Any]]] = {
    "SlurmCluster": {
        "k8sNodeFilters": {"minItems": 1, "x-kubernetes-list-map-keys": ["name"]},
        "k8sNodeFilters[].name": {"minLength": 1},
        "volumeSources[].name": {"minLength": 1},
        "clusterType": {"enum": ["gpu", "cpu"]},
        "partitionConfiguration.configType": {"enum": ["default", "custom", "structured"]},
        "partitionConfiguration.partitions[].name": {"minLength": 1},
        "slurmConfig.resumeTimeout": {"minimum": 1, "format": "int32"},
        "plugStackConfig.ncclDebug.logLevel": {"enum": ["VERSION", "WARN", "INFO", "TRACE"]},
        "workerFeatures[].name": {"minLength": 1},
        "workerFeatures[].hostlistExpr": {"minLength": 1},
        "healthCheckConfig.healthCheckNodeState": {"minItems": 1},
        "healthCheckConfig.healthCheckNodeState[].state": {
            "enum": ["ALLOC", "ANY", "CYCLE", "IDLE", "NONDRAINED_IDLE", "MIXED"]
        },
        "sConfigController.serviceAccountName": {"minLength": 1},
        "slurmNodes.accounting.slurmdbd.procMount": {"enum": ["Default", "Unmasked"]},
        "slurmNodes.accounting.slurmdbdConfig.archiveTXN": {"enum": ["yes", "no"]},
        "slurmNodes.accounting.slurmConfig.jobAcctGatherParams": {
            "enum": ["NoShared", "UsePss", "OverMemoryKill", "DisableGPUAcct"]
        },
        "slurmNodes.controller.sssdDebugLevel": {"minimum": 0},
        "slurmNodes.controller.openMetrics.serviceMonitor.endpoints[]": {
            "enum": ["jobs", "jobs-users-accts", "nodes", "partitions", "scheduler"]
        },
        "slurmNodes.worker.maxUnavailable": {"x-kubernetes-int-or-string": True},
        "slurmNodes.login.sshdServiceType": {"enum": ["LoadBalancer", "NodePort"]},
        "slurmNodes.login.userIsolation.cpuWeight": {"minimum": 1, "maximum": 10000, "format": "int64"},
        "slurmNodes.exporter.maxCollectorInflight": {"minimum": 1},
        "slurmNodes.exporter.jobSource": {"enum": ["controller", "accounting"]},
        "slurmNodes.rest.threadCount": {"minimum": 2, "maximum": 1024},
        "slurmNodes.rest.maxConnections": {"minimum": 2},
    },
    "NodeSet": {
        "updateStrategy": {"enum": ["rollingUpdate", "slurmAwareRollingUpdate"]},
        "initialNumberEphemeralNodes": {"minimum": 0},
        "ephemeralTopologyWaitTimeout": {"minimum": 60},
        "workerInitRandomDelaySeconds": {"minimum": 0},
        "maxUnavailable": {"x-kubernetes-int-or-string": True},
        "slurmd.volumes.persistentVolumeClaimRetentionPolicy.whenDeleted": {"enum": ["Retain", "Delete"]},
    },
    "NodeSetPowerState": {
        "nodeSetRef": {"minLength": 1},
        "activeNodes": {"x-kubernetes-list-type": "set"},
    },
    "ActiveCheck": {"checkType": {"enum": ["k8sJob", "slurmJob"]}},
    "NodeConfigurator": {
        "rebooter.evictionMethod": {"enum": ["evict"]},
        "rebooter.logLevel": {"enum": ["debug", "info", "warn", "error"]},
    },
    "JailedConfig": {
        "items": {"x-kubernetes-list-type": "atomic"},
        "updateActions": {"x-kubernetes-list-type": "atomic"},
        "updateActions[]": {"enum": ["Reconfigure"]},
    },
}

REQUIRED: dict[str, dict[str, list[str]]] = {
    "SlurmCluster": {
        "": ["k8sNodeFilters", "populateJail", "secrets", "slurmNodes"],
        "populateJail": ["image", "k8sNodeFilterName"],
        "slurmNodes": ["accounting", "controller", "exporter", "login", "rest"],
        "slurmNodes.controller": ["k8sNodeFilterName", "munge", "slurmctld", "volumes"],
        "slurmNodes.controller.volumes": ["jail", "spool"],
        "slurmNodes.worker": ["k8sNodeFilterName", "munge", "slurmd", "volumes"],
        "slurmNodes.worker.volumes": ["jail", "spool"],
        "slurmNodes.worker.volumes.jailSubMounts[]": ["mountPath", "name"],
        "slurmNodes.login": [
            "k8sNodeFilterName",
            "munge",
            "sshRootPublicKeys",
            "sshd",
            "sshdServiceType",
            "volumes",
        ],
        "slurmNodes.login.volumes": ["jail"],
        "slurmNodes.accounting": ["k8sNodeFilterName"],
        "slurmNodes.accounting.mariadbOperator": ["image"],
        "slurmNodes.exporter": ["k8sNodeFilterName"],
        "slurmNodes.exporter.volumes": ["jail"],
        "slurmNodes.rest": ["k8sNodeFilterName"],
        "healthCheckConfig": ["healthCheckInterval", "healthCheckNodeState", "healthCheckProgram"],
        "plugStackConfig.customPlugins[]": ["path"],
    },
    "NodeSet": {
        "": ["munge", "slurmd"],
        "slurmd": ["image", "resources", "volumes"],
        "slurmd.image": ["repository"],
        "slurmd.volumes": ["jail"],
        "munge": ["image", "resources"],
        "sssd": ["image", "resources"],
    },
    "NodeSetPowerState": {"": ["nodeSetRef"]},
    "ActiveCheck": {"": ["name", "slurmClusterRefName"]},
    "NodeConfigurator": {"": [], "rebooter": ["enabled"], "customContainer": ["enabled"]},
    "JailedConfig": {"": ["configMap"], "configMap": ["name"], "items[]": ["key", "path"]},
}


@cache
def schema_of(kind: type[CustomResource]) -> dict[str, Any]:
    schema: dict[str, Any] = crd(kind)["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    return schema


def field(kind: str, path: str) -> dict[str, Any]:
    part: dict[str, Any] = schema_of(KINDS[kind])["properties"]["spec"]
    for step in path.replace("[]", ".[]").split(".") if path else ():
        part = part["items"] if step == "[]" else part["properties"][step]
    return part


def rows(table: dict[str, dict[str, Any]]) -> list[Any]:
    return [
        pytest.param(kind, path, value, id=f"{kind}.{path}")
        for kind, entries in table.items()
        for path, value in entries.items()
    ]


@pytest.mark.parametrize(("kind", "path", "default"), rows(DEFAULTS))
def test_a_default_is_in_the_schema(kind: str, path: str, default: object) -> None:
    assert field(kind, path)["default"] == default


@pytest.mark.parametrize(("kind", "path", "words"), rows(WORDS))
def test_a_limit_is_in_the_schema(kind: str, path: str, words: dict[str, Any]) -> None:
    assert words.items() <= field(kind, path).items()


@pytest.mark.parametrize(("kind", "path", "names"), rows(REQUIRED))
def test_what_is_required(kind: str, path: str, names: list[str]) -> None:
    assert sorted(field(kind, path).get("required", [])) == names


@pytest.mark.parametrize("kind", KINDS)
def test_only_a_jailed_config_needs_a_spec(kind: str) -> None:
    assert schema_of(KINDS[kind]).get("required", []) == (["spec"] if kind == "JailedConfig" else [])


@pytest.mark.parametrize("kind", KINDS)
def test_names_and_versions_are_those_that_users_know(kind: str) -> None:
    definition = crd(KINDS[kind])["spec"]

    assert (definition["group"], definition["scope"]) == ("slurm.nebius.ai", "Namespaced")
    assert [version["name"] for version in definition["versions"]] == [VERSIONS[kind]]
    assert definition["names"] == {
        "kind": kind,
        "listKind": f"{kind}List",
        "plural": f"{kind.lower()}s",
        "singular": kind.lower(),
    }


@pytest.mark.parametrize("kind", KINDS)
def test_status_is_a_subresource_and_node_sets_scale(kind: str) -> None:
    scale = {
        "specReplicasPath": ".spec.replicas",
        "statusReplicasPath": ".status.replicas",
        "labelSelectorPath": ".status.labelSelector",
    }
    subresources = crd(KINDS[kind])["spec"]["versions"][0]["subresources"]

    assert subresources == ({"status": {}, "scale": scale} if kind == "NodeSet" else {"status": {}})


def test_every_field_of_ours_has_a_description() -> None:
    silent = [
        f"{model.__name__}.{name}"
        for model in models(Model)
        for name, field in model.model_fields.items()
        if not field.description and name not in CustomResource.model_fields
    ]

    assert silent == []


def models(root: type[Model]) -> Iterator[type[Model]]:
    for model in root.__subclasses__():
        yield from models(model)
        if model.__module__.startswith("slurmery.api.nebius"):
            yield model


@pytest.mark.parametrize("kind", KINDS)
def test_a_definition_fits_into_a_request(kind: str) -> None:
    assert len(json.dumps(crd(KINDS[kind]))) < 1_000_000
