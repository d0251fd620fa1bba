"""The six Slinky kinds have the fields, defaults and limits that their users know."""

from typing import Any

import pytest

from slurmery.api import slinky
from slurmery.api.crd import crd
from slurmery.api.resource import CustomResource

# One line a field: name, type, default. `!` is required, `?` nullable; `key` and `ref` are references.
KEYED = """
    slurmKeyRef key
    jwtHs256KeyRef key
    jwtKeyRef key
    jwksKeyRef key
    external boolean = False
    externalConfig object
      host! string
      port! integer
"""
META = """
      metadata object
        labels? {string}
        annotations? {string}
"""
TEMPLATE = f"""
    template object
      {META}
      spec free
"""
SERVICE = f"""
    service object
      {META}
      spec free
      port integer
      nodePort integer
"""
CLAIM = """
      accessModes [string]
      dataSource object
        apiGroup string
        kind! string
        name! string
      dataSourceRef object
        apiGroup string
        kind! string
        name! string
        namespace string
      resources object
        limits {int-or-string}
        requests {int-or-string}
      selector object
        matchExpressions [object]
          key! string
          operator! string
          values [string]
        matchLabels {string}
      storageClassName string
      volumeAttributesClassName string
      volumeMode string
      volumeName string
"""
CONDITIONS = """
    conditions [object]
      type! string
      status! True|False|Unknown
      reason! string
      message! string
      lastTransitionTime! date-time
      observedGeneration int64
"""
FIELDS: dict[str, str] = {
    "Controller": f"""
  spec! object
    {KEYED}
    clusterName string
    accountingRef ref
    ha object
      enabled boolean = False
      backups int32 = 1
    slurmctld free
    inplaceReconfigure boolean = False
    reconfigure free
    logfile free
    {TEMPLATE}
    extraConf string
    configFileRefs? [ref]
    prologScriptRefs? [ref]
    epilogScriptRefs? [ref]
    prologSlurmctldScriptRefs? [ref]
    epilogSlurmctldScriptRefs? [ref]
    persistence object
      enabled boolean = True
      existingClaim string
      {CLAIM}
    {SERVICE}
    metrics object
      enabled boolean = False
      serviceMonitor? object
        enabled boolean = False
        labels? {{string}}
        annotations? {{string}}
        interval string
        scrapeTimeout string
        endpoints? [object]
          path! string
          interval string
          scrapeTimeout string
  status object
    {CONDITIONS}
""",
    "NodeSet": f"""
  spec! object
    controllerRef! ref
    replicas int32 = 1
    scalingMode StatefulSet|DaemonSet = StatefulSet
    slurmd free
    ssh object
      enabled boolean = False
      extraSshdConfig string
      sssdConfRef! key
    logfile free
    {TEMPLATE}
    extraConf string
    partition object
      enabled boolean = False
      config string
    volumeClaimTemplates? anything
    updateStrategy object
      type RollingUpdate|OnDelete|ScheduledUpdate = RollingUpdate
      rollingUpdate object
        maxUnavailable int-or-string = 25%
      scheduledUpdate object
        startTime date-time
        duration string = 30m
        flags? [string]
    revisionHistoryLimit int32 = 0
    persistentVolumeClaimRetentionPolicy object
      whenDeleted Retain|Delete = Retain
      whenScaled Retain|Delete = Retain
    minReadySeconds int32
    ordinalPadding integer = 0
    pinToNode boolean = False
    workloadDisruptionProtection boolean = True
    pruneSlurmNodeRecords Never|NodeNotFound = Never
    oversubscribeNode boolean = False
  status object
    {CONDITIONS}
    replicas int32
    updatedReplicas int32
    readyReplicas int32
    availableReplicas int32
    unavailableReplicas int32
    desired int32
    slurmIdle int32
    slurmAllocated int32
    slurmDown int32
    slurmDrain int32
    observedGeneration int64
    nodeSetHash! string
    collisionCount int32
    ordinalToNode? {{string}}
    selector! string
""",
    "LoginSet": f"""
  spec! object
    controllerRef! ref
    replicas int32 = 1
    login free
    initconf free
    {TEMPLATE}
    rootSshAuthorizedKeys string
    extraSshdConfig string
    sssdConfRef! key
    strategy object
      type string
      rollingUpdate object
        maxSurge int-or-string
        maxUnavailable int-or-string
    {SERVICE}
  status object
    {CONDITIONS}
    replicas int32
    selector! string
""",
    "Accounting": f"""
  spec! object
    {KEYED}
    slurmdbd free
    {TEMPLATE}
    storageConfig object
      host! string
      port integer = 3306
      database string = slurm_acct_db
      username string
      passwordKeyRef! key
    extraConf string
    {SERVICE}
  status object
    {CONDITIONS}
""",
    "RestApi": f"""
  spec! object
    controllerRef! ref
    replicas int32 = 1
    slurmrestd free
    {TEMPLATE}
    {SERVICE}
  status object
    {CONDITIONS}
""",
    "Token": f"""
  spec! object
    jwtHs256KeyRef key
    jwtKeyRef key
    username! string
    lifetime string
    refresh boolean = True
    secretRef key
  status object
    {CONDITIONS}
    issuedAt date-time
""",
}
REFERENCES = {("key", "name", "optional"): "key", ("name",): "ref"}


def version(kind: type[CustomResource]) -> dict[str, Any]:
    [found] = crd(kind)["spec"]["versions"]
    assert isinstance(found, dict)
    return found


def outline(schema: dict[str, Any]) -> set[str]:
    """The fields of an object, one `path type = default` each."""
    lines = set()
    for name, field in schema["properties"].items():
        mark = "!" * (name in schema.get("required", ())) + "?" * field.get("nullable", False)
        default = f" = {field['default']}" if "default" in field else ""
        lines.add(f"{name}{mark} {word(field)}{default}")
        inner = field.get("items", field)
        if word(inner) == "object":
            lines |= {f"{name}.{line}" for line in outline(inner)}
    return lines


def word(field: dict[str, Any]) -> str:
    match field:
        case {"items": item}:
            found = f"[{word(item)}]"
        case {"additionalProperties": entry}:
            found = f"{{{word(entry)}}}"
        case {"enum": values}:
            found = "|".join(values)
        case {"x-kubernetes-int-or-string": True}:
            found = "int-or-string"
        case {"x-kubernetes-preserve-unknown-fields": True}:
            found = "free" if field.get("type") == "object" else "anything"
        case {"x-kubernetes-map-type": "atomic", "properties": properties}:
            found = REFERENCES.get(tuple(sorted(properties)), "object")
        case _:
            found = field.get("format", field["type"])
    return found


def expected(text: str) -> set[str]:
    """The same lines, from the indented text above. Pieces put in keep their own depth."""
    lines: set[str] = set()
    parents: list[str] = []
    for line in filter(str.strip, text.splitlines()):
        depth = (len(line) - len(line.lstrip())) // 2 - 1
        parents[depth:] = [line.split()[0].rstrip("!?")]
        lines.add(".".join([*parents[:depth], line.strip()]))
    return lines


@pytest.mark.parametrize("kind", slinky.KINDS, ids=lambda kind: kind.__name__)
def test_fields_are_those_of_the_contract(kind: type[CustomResource]) -> None:
    whole = version(kind)["schema"]["openAPIV3Schema"]
    fields = {name: whole["properties"][name] for name in ("spec", "status")}

    assert outline({**whole, "properties": fields}) == expected(FIELDS[kind.__name__])


@pytest.mark.parametrize(
    ("kind", "plural", "short_names", "subresources"),
    [
        (slinky.Controller, "controllers", ["slurmctld"], {"status"}),
        (slinky.NodeSet, "nodesets", ["nodesets", "nss", "slurmd"], {"status", "scale"}),
        (slinky.LoginSet, "loginsets", ["loginsets", "lss", "sackd"], {"status", "scale"}),
        (slinky.Accounting, "accountings", ["slurmdbd"], {"status"}),
        (slinky.RestApi, "restapis", ["slurmrestd"], {"status"}),
        (slinky.Token, "tokens", ["tokens", "jwt"], {"status"}),
    ],
)
def test_kinds_are_found_under_their_names(
    kind: type[CustomResource], plural: str, short_names: list[str], subresources: set[str]
) -> None:
    names = crd(kind)["spec"]["names"]

    assert crd(kind)["metadata"]["name"] == f"{plural}.slinky.slurm.net"
    assert (names["plural"], names["singular"]) == (plural, kind.__name__.lower())
    assert names["shortNames"] == short_names
    assert version(kind)["name"] == "v1beta1"
    assert version(kind)["subresources"].keys() == subresources


def test_the_newer_jwt_key_wins() -> None:
    old, new = ({"name": name, "key": "k"} for name in ("old", "new"))

    spec = slinky.Token.model_validate({"spec": {"username": "a", "jwtHs256KeyRef": old}}).spec
    assert spec.jwt_key == spec.jwt_hs256_key_ref

    spec = slinky.Token.model_validate(
        {"spec": {"username": "a", "jwtHs256KeyRef": old, "jwtKeyRef": new}}
    ).spec
    assert spec.jwt_key == spec.jwt_key_ref


@pytest.mark.parametrize(
    ("spec", "replicas"),
    [
        ({}, 1),
        ({"ha": {"enabled": False, "backups": 3}}, 1),
        ({"ha": {"enabled": True}}, 2),
        ({"ha": {"enabled": True, "backups": 3}}, 4),
        ({"ha": {"enabled": True, "backups": 3}, "external": True}, 1),
    ],
    ids=str,
)
def test_standbys_are_counted(spec: dict[str, Any], replicas: int) -> None:
    assert slinky.Controller.model_validate({"spec": spec}).spec.replicas == replicas


def test_a_cluster_is_named_after_its_controller_unless_it_says_otherwise() -> None:
    metadata = {"namespace": "hpc", "name": "main"}

    assert slinky.Controller.model_validate({"metadata": metadata, "spec": {}}).cluster_name == "hpc_main"
    named = {"metadata": metadata, "spec": {"clusterName": "deep"}}
    assert slinky.Controller.model_validate(named).cluster_name == "deep"


def test_absent_objects_read_as_their_defaults() -> None:
    nodeset = slinky.NodeSet.model_validate({"spec": {"controllerRef": {"name": "a"}}}).spec

    assert nodeset.update_strategy.type == "RollingUpdate"
    assert nodeset.update_strategy.rolling_update.max_unavailable == "25%"
    assert nodeset.persistent_volume_claim_retention_policy.when_scaled == "Retain"
    assert not nodeset.partition.enabled
    controller = slinky.Controller.model_validate({"spec": {}}).spec
    assert controller.persistence.enabled
    assert not controller.metrics.service_monitor.enabled
