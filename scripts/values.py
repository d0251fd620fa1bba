"""Schemas for the values of charts whose values are, for the most part, the spec of a custom resource.

Values are that spec without what the chart fills in, and with fields of the chart's own. So every field of
the API is a value, and a misspelt one is refused by its path. What is Kubernetes' own is left to the API
server.
"""

import json
import re
from copy import deepcopy
from typing import Any

from slurmery.api.nebius.activecheck import ActiveCheckSpec
from slurmery.api.nebius.nodeconfigurator import NodeConfiguratorSpec
from slurmery.api.nebius.nodeset import NodeSetSpec
from slurmery.api.nebius.slurmcluster import SlurmClusterSpec
from slurmery.api.resource import Model
from slurmery.api.schema import schema
from slurmery.cli.settings.checks import CONTROLLERS

Schema = dict[str, Any]

# How Kubernetes' own types are described.
THEIRS = "A Kubernetes "
_LINE = 110
_KEPT = ("pattern", "minimum", "maximum", "minLength")
TEXT: Schema = {"type": ["string", "null"]}
FLAG: Schema = {"type": ["boolean", "null"]}
NUMBER: Schema = {"type": ["integer", "null"]}
AMOUNT: Schema = {"type": ["string", "number", "null"]}
ANY_MAP: Schema = {"type": ["object", "null"]}
TEXTS: Schema = {"type": ["object", "null"], "additionalProperties": TEXT}
PULL_POLICY: Schema = {"enum": ["Always", "Never", "IfNotPresent", "", None]}
MAPS: Schema = {"type": ["array", "null"], "items": ANY_MAP}
_TEXT_LIST: Schema = {"type": ["array", "null"], "items": {"type": "string"}}


def fields(**properties: Schema) -> Schema:
    """An object with these fields and no others."""
    return {"type": ["object", "null"], "additionalProperties": False, "properties": properties}


def spec(model: type[Model]) -> Schema:
    """The spec of a kind as values: nothing is required and null is no value."""
    return _values(schema(model))


def _values(part: Schema) -> Schema:
    if "properties" in part:
        described = part["properties"].items()
        ours = {
            name: each for name, each in described if not each.get("description", THEIRS).startswith(THEIRS)
        }
        theirs = sorted(set(part["properties"]) - set(ours))
        if not ours:
            return ANY_MAP
        return fields(**{name: _values(each) for name, each in ours.items()}, **{name: {} for name in theirs})
    if "enum" in part:
        return {"enum": [*part["enum"], None]}
    if part.get("x-kubernetes-int-or-string"):
        return AMOUNT
    kind = part.get("type", "object")
    inner = {"items": _values(part["items"])} if "items" in part else {}
    return {"type": [kind, "null"], **inner, **{word: part[word] for word in _KEPT if word in part}}


def _add(part: Schema, path: str, **properties: Schema) -> None:
    """Give the object at a path fields of the chart's own."""
    for word in filter(None, path.split(".")):
        part = part["items"] if word == "[]" else part["properties"][word]
    part["properties"].update(deepcopy(properties))


def slurm_cluster() -> Schema:
    """Of charts/slurm-cluster."""
    whole = spec(SlurmClusterSpec)
    account = {"rbac": fields(create=FLAG), "serviceAccount": fields(create=FLAG, name=TEXT)}
    exporters = {"nodeExporter": ANY_MAP}
    _add(
        whole, "volumeSources.[]", createPVC=FLAG, storageClassName=TEXT, size=AMOUNT, accessModes=_TEXT_LIST
    )
    _add(whole, "sConfigController", serviceMonitor=ANY_MAP, **account, **exporters)
    _add(whole, "slurmNodes.controller", **account, **exporters)
    _add(whole, "slurmNodes.exporter", imagePullPolicy=PULL_POLICY, imagePullSecrets=MAPS, **account)
    _add(whole, "slurmNodes.login", docker=fields(enabled=FLAG), **exporters)
    for component in ("accounting", "rest"):
        _add(whole, f"slurmNodes.{component}", **exporters)
    nodes = whole["properties"]["slurmNodes"]["properties"]
    sssd = deepcopy(nodes["login"]["properties"]["sssd"])
    names = ("sssdDebugLevel", "sssdConfSecretRefName", "sssdLdapCAConfigMapRefName")
    sssd["properties"] |= {"enabled": FLAG} | {name: nodes["login"]["properties"][name] for name in names}
    check = fields(enabled=FLAG, customContent=TEXT, customConfig=TEXT)
    extra = fields(config=TEXT, content=TEXT)
    scripts = dict.fromkeys((*_SCRIPTS_1_22, *_SCRIPTS), TEXT)
    _add(whole, "slurmNodes", sssd=sssd)
    _add(
        whole,
        "",
        clusterName={"type": "string", "minLength": 1},
        annotations=TEXTS,
        images=TEXTS,
        imagePullPolicy=PULL_POLICY,
        imagePullSecrets=MAPS,
        cudaVersion=AMOUNT,
        pause=FLAG,
        telemetry=ANY_MAP,
        slurmScripts=fields(
            **scripts,
            custom=TEXTS,
            builtIn={"type": ["object", "null"], "additionalProperties": check},
            extra={"type": ["object", "null"], "additionalProperties": extra},
        ),
        **exporters,
    )
    return _document("slurm-cluster", whole)


_SCRIPTS_1_22 = ("prolog", "epilog", "hcProgram")
_SCRIPTS = (
    "check_runner.py",
    "prolog.sh",
    "task_prolog.sh",
    "epilog.sh",
    "hc_program.sh",
    "pyxis_caching_importer.sh",
)


def nodesets() -> Schema:
    """Of charts/nodesets."""
    one = spec(NodeSetSpec)
    _add(
        one,
        "",
        name={"type": "string", "minLength": 1},
        annotations=TEXTS,
        labels=TEXTS,
        nodeExporter=ANY_MAP,
    )
    image = fields(repository=TEXT, tag=AMOUNT, pullPolicy=PULL_POLICY)
    classes = fields(
        name={"type": "string", "minLength": 1},
        description=TEXT,
        annotations=TEXTS,
        labels=TEXTS,
        value=NUMBER,
        globalDefault=FLAG,
        preemptionPolicy={"enum": ["PreemptLowerPriority", "Never", "", None]},
    )
    return _document(
        "nodesets",
        fields(
            nameOverride=TEXT,
            fullnameOverride=TEXT,
            clusterName=TEXT,
            imagePullSecrets=MAPS,
            priorityClasses={"type": ["array", "null"], "items": classes},
            images=fields(munge=image, slurmd=image, sssd=image, nodeExporter=image),
            slurmScripts=fields(enabled=FLAG, name=TEXT),
            nodesets={"type": ["array", "null"], "items": one},
            nodeExporter=ANY_MAP,
        ),
    )


def nodeconfigurator() -> Schema:
    """Of charts/nodeconfigurator."""
    whole = spec(NodeConfiguratorSpec)
    _add(whole, "rebooter", generateRBAC=FLAG, dryRun=FLAG)
    _add(whole, "", serviceMonitor=ANY_MAP)
    return _document("nodeconfigurator", whole)


def soperatorchecks() -> Schema:
    """Of charts/soperatorchecks."""
    manager = fields(
        args=_TEXT_LIST,
        enableNodeReplacement=FLAG,
        enableExtensiveCheck=FLAG,
        controllersEnabled=fields(**dict.fromkeys(CONTROLLERS, FLAG)),
        policy=fields(conditions=TEXTS, reasons=TEXTS, budget=NUMBER),
        env=fields(slurmOperatorWatchNamespaces=TEXT, maintenanceIgnoreNodeLabels=TEXT),
        image=fields(repository=TEXT, tag=AMOUNT),
        imagePullPolicy=PULL_POLICY,
        containerSecurityContext=ANY_MAP,
        resources=ANY_MAP,
    )
    checks = fields(
        replicas={"type": "integer", "minimum": 0},
        serviceAccount=fields(create=FLAG, name=TEXT, annotations=TEXTS),
        manager=manager,
        kubeRbacProxy=ANY_MAP,
        imagePullSecrets=MAPS,
        priorityClassName=TEXT,
        nodeSelector=TEXTS,
        affinity=ANY_MAP,
        tolerations=MAPS,
    )
    monitor = fields(
        enabled=FLAG,
        jobLabel=TEXT,
        interval=TEXT,
        scrapeTimeout=TEXT,
        additionalLabels=TEXTS,
        metricRelabelings=MAPS,
        relabelings=MAPS,
    )
    whole = fields(checks=checks, kubernetesClusterDomain=TEXT, serviceMonitor=monitor)
    return _document("soperatorchecks", whole)


def activechecks() -> Schema:
    """Of charts/soperator-activechecks."""
    check = spec(ActiveCheckSpec)
    container = check["properties"]["k8sJobSpec"]["properties"]["jobContainer"]
    _add(check, "", enabled=FLAG, script=TEXT)
    whole = fields(
        slurmClusterRefName={"type": "string", "minLength": 1},
        clusterType={"enum": ["cpu", "gpu", "", None]},
        images=TEXTS,
        jobContainer=container,
        checks={"type": ["object", "null"], "additionalProperties": check},
        createUser=fields(name=TEXT),
        ensureDirSnccldLogs=fields(enabled=FLAG, dir=TEXT, schedule=TEXT),
        activeCheckImage=TEXT,
        sshCheck=ANY_MAP,
        upgradeCuda=ANY_MAP,
        upgradeHealthChecker=ANY_MAP,
    )
    return _document("soperator-activechecks", whole)


def storage() -> Schema:
    """Of charts/slurm-cluster-storage."""
    kinds = ("filestore", "glusterfs", "storageClass", "nfs", "hostPath", "", None)
    volume = fields(
        name=TEXT,
        type={"enum": list(kinds)},
        size=AMOUNT,
        filestoreDeviceName=TEXT,
        glusterfsHostName=TEXT,
        storageClassName=TEXT,
        accessModes=_TEXT_LIST,
        nfs=fields(server=TEXT, path=TEXT),
        path=TEXT,
    )
    optional = fields(**volume["properties"], enabled=FLAG)
    place = fields(matchExpressions=MAPS, tolerations=MAPS)
    group = fields(id=TEXT)
    whole = fields(
        storageClass=fields(local=fields(name=TEXT)),
        volume=fields(
            jail=volume,
            controllerSpool=optional,
            accounting=optional,
            jailSubMounts={"type": ["array", "null"], "items": volume},
        ),
        storage=fields(jail=place, controllerSpool=place, accounting=place),
        nodeGroup=fields(gpu=group, nonGpu=group),
        mount=fields(image=TEXT, imagePullPolicy=PULL_POLICY, updateStrategy=ANY_MAP, priorityClassName=TEXT),
    )
    return _document("slurm-cluster-storage", whole)


def written(whole: Schema) -> str:
    """The text of a schema, with what is short on one line."""
    text = json.dumps(whole, indent=2)
    text = re.sub(r"\[[^\[\]{}]*\]", _in_one_line, text)
    return re.sub(r"\{[^{}]*\}", _in_one_line, text) + "\n"


def _in_one_line(found: re.Match[str]) -> str:
    line = (
        re.sub(r"\s+", " ", found[0])
        .replace("[ ", "[")
        .replace(" ]", "]")
        .replace("{ ", "{")
        .replace(" }", "}")
    )
    return line if len(line) <= _LINE else found[0]


def _document(chart: str, whole: Schema) -> Schema:
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": f"Values of the chart {chart}",
        **whole,
        "type": "object",
        "properties": {**whole["properties"], "global": ANY_MAP},
    }


SCHEMAS = {
    "slurm-cluster": slurm_cluster,
    "nodesets": nodesets,
    "slurm-cluster-storage": storage,
    "nodeconfigurator": nodeconfigurator,
    "soperatorchecks": soperatorchecks,
    "soperator-activechecks": activechecks,
}
