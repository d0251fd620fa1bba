"""What the kinds of slurm.nebius.ai allow and refuse, asked of the API server and of our own `validate`.

The two must agree on every case.
"""

import json
from typing import Any

import pytest

from dev.controlplane import ControlPlane
from tests.controlplane.api.nebius_specimens import (
    CHECK,
    CLUSTER,
    CONFIG,
    CONFIGURATOR,
    NEW_CLUSTER,
    NEW_CONFIGURATOR,
    NODESET,
    POWER,
    Manifest,
    changed,
    errors,
    install,
    refusals,
)

NAMESPACE = "nebius-rules"
OFF, ON = {"enabled": False}, {"enabled": True}
MOUNT = {"name": "a", "mountPath": "/a"}
WAIT = "sConfigController__reconfigureWaitTimeout"
POLL = "sConfigController__reconfigurePollInterval"
LOGIN = "slurmNodes__login__"
WORKER = "slurmNodes__worker__"

ACCEPTED: dict[str, Manifest] = {
    "a wait longer than the poll": changed(CLUSTER, **{WAIT: "90s", POLL: "1m"}),
    "a longer poll where the default wait is longer": changed(NEW_CLUSTER, **{POLL: "2m"}),
    "no config writer": changed(CLUSTER, sConfigController=None),
    "a node port": changed(CLUSTER, **{LOGIN + "sshdServiceNodePort": 32767}),
    "partitions by default": changed(CLUSTER, partitionConfiguration={"rawConfig": ["anything"]}),
    "indented partition lines": changed(CLUSTER, partitionConfiguration__rawConfig=["  PartitionName=a"]),
    "a missing filter of something switched off": changed(
        CLUSTER,
        slurmNodes__rest={"k8sNodeFilterName": "none"},
        slurmNodes__accounting={"k8sNodeFilterName": "none"},
        slurmNodes__exporter={"k8sNodeFilterName": "none", "enabled": True},
        slurmNodes__worker__k8sNodeFilterName="none",
        slurmNodes__worker__size=0,
    ),
    "a missing filter of a Job that is skipped": changed(
        CLUSTER, maintenance="skipPopulateJail", populateJail__k8sNodeFilterName="none"
    ),
    "an empty name beside a claim": changed(
        CLUSTER, **{WORKER + "volumes__spool": {"volumeSourceName": "", "volumeClaimTemplateSpec": {}}}
    ),
    "equal memory limits": changed(
        NEW_CLUSTER, **{LOGIN + "userIsolation": {"memoryHigh": "1Gi", "memoryMax": 1073741824}}
    ),
    "one memory limit": changed(NEW_CLUSTER, **{LOGIN + "userIsolation": {"memoryHigh": "1Gi"}}),
    "a flag for syncBinlog": CLUSTER,
    "many unavailable": changed(NODESET, maxUnavailable=500),
    "a percentage of few": changed(NODESET, maxUnavailable="100%", replicas=500),
    "a percentage of many": changed(NODESET, maxUnavailable="5%", replicas=10000),
    "one half of a 1.22 configurator": changed(CONFIGURATOR, rebooter=OFF, nodeConfigurator=ON),
    "both halves of a 5.0 configurator": changed(NEW_CONFIGURATOR, rebooter=ON, customContainer=ON),
    "the new name beside the old": changed(NEW_CONFIGURATOR, nodeConfigurator=ON),
    "dots in file names": changed(CONFIG, items=[{"key": "a", "path": "/.a/..b/c./d..e"}]),
    "no items": changed(CONFIG, items=None),
    "no nodes": changed(POWER, activeNodes=[]),
}

REFUSED: dict[str, tuple[Manifest, str]] = {
    "a wait as long as the poll": (
        changed(CLUSTER, **{WAIT: "60s", POLL: "1m"}),
        "must be more than reconfigurePollInterval",
    ),
    "a poll longer than the default wait": (changed(CLUSTER, **{POLL: "2m"}), "must be more than"),
    "a poll longer than the default wait of 5.0": (changed(NEW_CLUSTER, **{POLL: "5m"}), "must be more than"),
    "a duration that is none": (changed(CLUSTER, **{POLL: "soon"}), POLL.replace("__", ".")),
    "a node port out of range": (
        changed(CLUSTER, **{LOGIN + "sshdServiceNodePort": 22}),
        "from 30000 to 32767",
    ),
    "no node port": (changed(CLUSTER, **{LOGIN + "sshdServiceNodePort": None}), "from 30000 to 32767"),
    "an unknown service type": (
        changed(CLUSTER, **{LOGIN + "sshdServiceType": "ClusterIP"}),
        "sshdServiceType",
    ),
    "no partition": (
        changed(NEW_CLUSTER, partitionConfiguration={"configType": "structured"}),
        "needs at least one partition",
    ),
    "an empty list of partitions": (
        changed(NEW_CLUSTER, partitionConfiguration__partitions=[]),
        "needs at least one partition",
    ),
    "another line among partitions": (
        changed(CLUSTER, partitionConfiguration__rawConfig=["PartitionName=a", "NodeName=b"]),
        "must start with PartitionName",
    ),
    "no filters": (changed(CLUSTER, k8sNodeFilters=[]), "spec.k8sNodeFilters"),
    "two filters of one name": (
        changed(CLUSTER, k8sNodeFilters=[{"name": "cpu"}, {"name": "gpu"}, {"name": "gpu"}]),
        "spec.k8sNodeFilters",
    ),
    **{
        f"a missing filter of {path}": (
            changed(CLUSTER, **{f"{path}__k8sNodeFilterName": "none"}),
            f"spec.{path.replace('__', '.')}.k8sNodeFilterName",
        )
        for path in (
            "populateJail",
            "sConfigController__node",
            *(f"slurmNodes__{name}" for name in ("controller", "worker", "login", "accounting", "rest")),
        )
    },
    **{
        f"a missing source of {path}": (
            changed(CLUSTER, **{path: {"volumeSourceName": "none"}}),
            f"spec.{path.replace('__', '.')}.volumeSourceName",
        )
        for path in (
            "populateJail__jailSnapshotVolume",
            "slurmNodes__controller__volumes__spool",
            "slurmNodes__controller__volumes__jail",
            "slurmNodes__worker__volumes__spool",
            "slurmNodes__worker__volumes__jail",
            "slurmNodes__login__volumes__jail",
        )
    },
    **{
        f"a missing source in {path}": (
            changed(CLUSTER, **{path: [{**MOUNT, "volumeSourceName": "none"}]}),
            f"spec.{path.replace('__', '.')}",
        )
        for path in (
            "slurmNodes__controller__volumes__customMounts",
            "slurmNodes__worker__volumes__jailSubMounts",
            "slurmNodes__worker__volumes__customMounts",
            "slurmNodes__login__volumes__jailSubMounts",
            "slurmNodes__login__volumes__customMounts",
        )
    },
    "no sources at all": (
        changed(NEW_CLUSTER, volumeSources=None),
        "is not the name of one of volumeSources",
    ),
    "a nameless source": (changed(NEW_CLUSTER, volumeSources__0__name=""), "spec.volumeSources[0].name"),
    "a source without content": (
        changed(CLUSTER, volumeSources__1__persistentVolumeClaim=None),
        "must have exactly one volume source",
    ),
    "a source with two contents": (
        changed(CLUSTER, volumeSources__0__emptyDir={}),
        "must have exactly one volume source",
    ),
    "a volume that is nothing": (
        changed(CLUSTER, **{WORKER + "volumes__jail": {}}),
        "give either volumeSourceName or volumeClaimTemplateSpec",
    ),
    "a volume of nothing": (
        changed(CLUSTER, **{WORKER + "volumes__jail": {"volumeSourceName": ""}}),
        "give either volumeSourceName or volumeClaimTemplateSpec",
    ),
    "a mount that is two things": (
        changed(CLUSTER, slurmNodes__worker__volumes__jailSubMounts__0__volumeSourceName="jail"),
        "give either volumeSourceName or volumeClaimTemplateSpec",
    ),
    "more memory before slowing than at most": (
        changed(NEW_CLUSTER, **{LOGIN + "userIsolation": {"memoryHigh": "2Gi", "memoryMax": "2G"}}),
        "memoryHigh cannot be more than memoryMax",
    ),
    "no time to look back": (
        changed(NEW_CLUSTER, slurmNodes__exporter__accountingJobsLookback="0h"),
        "must be longer than nothing",
    ),
    "a scrape interval that is none": (
        changed(CLUSTER, slurmNodes__exporter__podMonitorConfig__interval="5x"),
        "spec.slurmNodes.exporter.podMonitorConfig.interval",
    ),
    "a resource that cannot be accounted for": (
        changed(CLUSTER, slurmNodes__accounting__slurmConfig__accountingStorageTRES="CPU,Disk"),
        "accountingStorageTRES",
    ),
    "an init container without a name": (
        changed(CLUSTER, slurmNodes__controller__customInitContainers=[{"image": "a"}]),
        "spec.slurmNodes.controller.customInitContainers[0].name",
    ),
    "none unavailable": (changed(NODESET, maxUnavailable=0), "must be a number from 1 to 500"),
    "too many unavailable": (changed(NODESET, maxUnavailable=501), "must be a number from 1 to 500"),
    "a percentage of too many": (changed(NODESET, maxUnavailable="6%", replicas=10000), "from 1 to 500"),
    "a text that is no percentage": (changed(NODESET, maxUnavailable="many"), "from 1 to 500"),
    "an impatient wait": (changed(NODESET, ephemeralTopologyWaitTimeout=59), "ephemeralTopologyWaitTimeout"),
    "a NodeSet mount that is nothing": (
        changed(NODESET, slurmd__volumes__customVolumeMounts=[MOUNT]),
        "give either volumeSource or volumeClaimTemplateSpec",
    ),
    "both halves of a 1.22 configurator": (
        changed(CONFIGURATOR, nodeConfigurator=ON),
        "enable either rebooter or nodeConfigurator",
    ),
    "neither half of a 1.22 configurator": (changed(CONFIGURATOR, rebooter=OFF), "enable either"),
    "a check of another type": (changed(CHECK, checkType="job"), "spec.checkType"),
    "a relative path": (changed(CONFIG, items=[{"key": "a", "path": "etc/a"}]), "must be an absolute path"),
    "a path that climbs": (
        changed(CONFIG, items=[{"key": "a", "path": "/etc/../a"}]),
        "must be an absolute path",
    ),
    "a path that ends in a dot": (changed(CONFIG, items=[{"key": "a", "path": "/etc/."}]), "absolute path"),
    "another action": (changed(CONFIG, updateActions=["Restart"]), "spec.updateActions[0]"),
    "no spec of a JailedConfig": ({**changed(CONFIG), "spec": None}, "spec"),
    "a node twice": (changed(POWER, activeNodes=[1, 1]), "spec.activeNodes"),
    "the power of nothing": (changed(POWER, nodeSetRef=""), "spec.nodeSetRef"),
}


@pytest.fixture(scope="module")
def plane(control_plane: ControlPlane) -> ControlPlane:
    install(control_plane, NAMESPACE)
    return control_plane


@pytest.fixture(scope="module")
def refused(plane: ControlPlane) -> dict[str, str]:
    """The verdicts of the API server on all cases, in one request to kubectl."""
    return refusals(plane, NAMESPACE, [*ACCEPTED.values(), *(given for given, _ in REFUSED.values())])


@pytest.mark.parametrize("given", ACCEPTED.values(), ids=ACCEPTED)
def test_is_accepted(refused: dict[str, str], given: Manifest) -> None:
    assert refused.get(given["metadata"]["name"], "") == ""
    assert errors(given) == ""


@pytest.mark.parametrize(("given", "sentence"), REFUSED.values(), ids=REFUSED)
def test_is_refused(refused: dict[str, str], given: Manifest, sentence: str) -> None:
    assert sentence in refused.get(given["metadata"]["name"], "")
    assert sentence in errors(given)


def test_protection_of_secrets_is_for_ever(plane: ControlPlane) -> None:
    def stored(name: str, **changes: Any) -> Manifest:
        return {**changed(CLUSTER, **changes), "metadata": {"name": name}}

    def replace(new: Manifest) -> None:
        arguments = ("replace", "-n", NAMESPACE, "--validate=ignore", "-f", "-")
        plane.kubectl(*arguments, stdin=json.dumps(new))

    given = stored("guarded")
    plane.kubectl("create", "-n", NAMESPACE, "--validate=ignore", "-f", "-", stdin=json.dumps(given))
    bigger = stored("guarded", slurmNodes__worker__size=9)
    unguarded = stored("guarded", slurmNodes__accounting__mariadbOperator__protectedSecret=False)

    replace(bigger)
    with pytest.raises(AssertionError, match=r"protectedSecret: .*cannot be changed"):
        replace(unguarded)

    assert errors(bigger, given) == ""
    assert errors(unguarded, given) == (
        "spec.slurmNodes.accounting.mariadbOperator.protectedSecret: cannot be changed"
    )
