"""The Slinky kinds on a real API server: accepted, defaulted, refused and shown as their users expect.

Every accept and every refusal is asked twice: of the API server and of our own `validate`. They must agree.
"""

import json
from itertools import count
from typing import Any

import pytest

from dev.controlplane import ControlPlane
from slurmery.api import slinky
from slurmery.api.crd import crd
from slurmery.api.validation import validate

NAMESPACE = "slinky-crds"
KEY = {"name": "keys", "key": "key"}
OTHER_KEY = {"name": "others", "key": "key"}
KEYED = {"slurmKeyRef": KEY, "jwtKeyRef": KEY}
EXTERNAL = {"external": True, "externalConfig": {"host": "slurm.example.org", "port": 6817}}
REF = {"controllerRef": {"name": "slurm"}}
LOGIN = {**REF, "sssdConfRef": KEY}
DATABASE = {"host": "mariadb", "passwordKeyRef": KEY}
SHARED = {"persistence": {"existingClaim": "state"}}
SCHEDULED = {"type": "ScheduledUpdate", "scheduledUpdate": {"startTime": "2027-01-01T00:00:00Z"}}

Spec = dict[str, Any]
numbers = count()


@pytest.fixture(scope="module")
def plane(control_plane: ControlPlane) -> ControlPlane:
    """The control plane with the six kinds installed."""
    crds = [crd(kind) for kind in slinky.KINDS]
    everything = json.dumps({"apiVersion": "v1", "kind": "List", "items": crds})
    control_plane.kubectl("apply", "--server-side", "-f", "-", stdin=everything)
    names = [f"crd/{item['metadata']['name']}" for item in crds]
    control_plane.kubectl("wait", "--for=condition=Established", "--timeout=30s", *names)
    control_plane.kubectl("create", "namespace", NAMESPACE)
    return control_plane


def manifest(kind: str, spec: Spec, name: str = "") -> dict[str, Any]:
    return {
        "apiVersion": "slinky.slurm.net/v1beta1",
        "kind": kind,
        "metadata": {"name": name or f"{kind.lower()}-{next(numbers)}", "namespace": NAMESPACE},
        "spec": spec,
    }


def refusal(plane: ControlPlane, *arguments: str, of: dict[str, Any]) -> str:
    """What the API server says against an object; nothing when it takes it."""
    try:
        plane.kubectl(*arguments, "-f", "-", stdin=json.dumps(of))
    except AssertionError as error:
        return str(error)
    return ""


def errors(given: dict[str, Any], old: dict[str, Any] | None = None) -> list[str]:
    return [str(problem) for problem in validate(given, old) if not problem.warning]


ACCEPTED: dict[str, tuple[str, Spec]] = {
    "keys": ("Controller", KEYED),
    "the old name of the JWT key": ("Controller", {"slurmKeyRef": KEY, "jwtHs256KeyRef": KEY}),
    "a controller outside": ("Controller", EXTERNAL),
    "standbys with a shared claim": ("Controller", {**KEYED, **SHARED, "ha": {"enabled": True}}),
    "standbys switched off": ("Controller", {**KEYED, "ha": {"backups": 2}}),
    "nullable lists": ("Controller", {**KEYED, "configFileRefs": None, "metrics": {"serviceMonitor": None}}),
    "a scrape interval": (
        "Controller",
        {**KEYED, "metrics": {"serviceMonitor": {"interval": "1h30m", "endpoints": [{"path": "/a"}]}}},
    ),
    "any JSON in a container": ("Controller", {**KEYED, "slurmctld": {"image": "x", "ofTomorrow": [1, {}]}}),
    "accounting": ("Accounting", {**KEYED, "storageConfig": DATABASE}),
    "accounting outside": ("Accounting", EXTERNAL),
    "a reference only": ("NodeSet", REF),
    "unknown fields": ("NodeSet", {**REF, "telemetry": {"enabled": True}}),
    "a number unavailable": ("NodeSet", {**REF, "updateStrategy": {"rollingUpdate": {"maxUnavailable": 1}}}),
    "a scheduled update": ("NodeSet", {**REF, "updateStrategy": SCHEDULED}),
    "one partition": ("NodeSet", {**REF, "partition": {"enabled": True, "config": "State=UP MaxTime=1"}}),
    "node parameters": ("NodeSet", {**REF, "extraConf": " Features=a,b\n Gres=gpu:8  Weight=2 "}),
    "no node parameters": ("NodeSet", {**REF, "extraConf": ""}),
    "ssh switched off": ("NodeSet", {**REF, "ssh": {"sssdConfRef": {"key": "sssd.conf"}}}),
    "null claim templates": ("NodeSet", {**REF, "volumeClaimTemplates": None}),
    "claim templates": (
        "NodeSet",
        {**REF, "volumeClaimTemplates": [{"metadata": {"name": "data"}, "spec": {}}]},
    ),
    "login": ("LoginSet", LOGIN),
    "a login strategy": ("LoginSet", {**LOGIN, "strategy": {"rollingUpdate": {"maxSurge": "50%"}}}),
    "rest": ("RestApi", REF),
    "a token": ("Token", {"username": "slurm", "jwtKeyRef": KEY, "lifetime": "1h30m"}),
}

REFUSED: dict[str, tuple[str, Spec, str]] = {
    "no Slurm key": ("Controller", {"jwtKeyRef": KEY}, "slurmKeyRef is required unless external"),
    "no JWT key": ("Controller", {"slurmKeyRef": KEY}, "jwtKeyRef is required unless external"),
    "outside, but where": ("Controller", {"external": True}, "externalConfig is required"),
    "outside without a port": ("Controller", {"external": True, "externalConfig": {"host": "x"}}, "port"),
    "standbys without storage": ("Controller", {**KEYED, "ha": {"enabled": True}}, "ha needs persistence"),
    "standbys without a claim": (
        "Controller",
        {**KEYED, "ha": {"enabled": True}, "persistence": {"enabled": True}},
        "ha needs persistence",
    ),
    "standbys without persistence": (
        "Controller",
        {**KEYED, "ha": {"enabled": True}, "persistence": {"enabled": False, "existingClaim": "state"}},
        "ha needs persistence",
    ),
    "no standbys": ("Controller", {**KEYED, "ha": {"backups": 0}}, "spec.ha.backups"),
    "a long cluster name": ("Controller", {**KEYED, "clusterName": "x" * 41}, "spec.clusterName"),
    "a key without its key": ("Controller", {**KEYED, "jwksKeyRef": {"name": "x"}}, "spec.jwksKeyRef.key"),
    "a bad interval": (
        "Controller",
        {**KEYED, "metrics": {"serviceMonitor": {"interval": "5x"}}},
        "interval",
    ),
    "a container that is none": ("Controller", {**KEYED, "slurmctld": "image"}, "spec.slurmctld"),
    "a bad claim": (
        "Controller",
        {**KEYED, "persistence": {"accessModes": "RWX"}},
        "spec.persistence.accessModes",
    ),
    "accounting without keys": ("Accounting", {"storageConfig": DATABASE}, "slurmKeyRef is required"),
    "a database nowhere": (
        "Accounting",
        {**KEYED, "storageConfig": {"passwordKeyRef": KEY}},
        "storageConfig.host",
    ),
    "no controller": ("NodeSet", {"replicas": 2}, "spec.controllerRef"),
    "an unnamed controller": ("NodeSet", {"controllerRef": {}}, "must name an object"),
    "a text for a number": ("NodeSet", {**REF, "replicas": "2"}, "spec.replicas"),
    "an unknown mode": ("NodeSet", {**REF, "scalingMode": "Deployment"}, "spec.scalingMode"),
    "an unknown pruning": ("NodeSet", {**REF, "pruneSlurmNodeRecords": "Always"}, "pruneSlurmNodeRecords"),
    "an unknown retention": (
        "NodeSet",
        {**REF, "persistentVolumeClaimRetentionPolicy": {"whenScaled": "Keep"}},
        "whenScaled",
    ),
    "none unavailable": (
        "NodeSet",
        {**REF, "updateStrategy": {"rollingUpdate": {"maxUnavailable": 0}}},
        "at least 1, or a percentage above 0%",
    ),
    "no percent unavailable": (
        "NodeSet",
        {**REF, "updateStrategy": {"rollingUpdate": {"maxUnavailable": "0%"}}},
        "at least 1, or a percentage above 0%",
    ),
    "a schedule without a time": (
        "NodeSet",
        {**REF, "updateStrategy": {"type": "ScheduledUpdate", "scheduledUpdate": {}}},
        "needs scheduledUpdate.startTime",
    ),
    "no schedule": (
        "NodeSet",
        {**REF, "updateStrategy": {"type": "ScheduledUpdate"}},
        "needs scheduledUpdate",
    ),
    "half a minute": (
        "NodeSet",
        {**REF, "updateStrategy": {"scheduledUpdate": {"duration": "30s"}}},
        "at least one minute",
    ),
    "a duration that is none": (
        "NodeSet",
        {**REF, "updateStrategy": {"scheduledUpdate": {"duration": "soon"}}},
        "duration",
    ),
    "a start that is no time": (
        "NodeSet",
        {**REF, "updateStrategy": {"scheduledUpdate": {"startTime": "noon"}}},
        "startTime",
    ),
    "an empty partition line": ("NodeSet", {**REF, "partition": {"config": ""}}, "spec.partition.config"),
    "two partition lines": ("NodeSet", {**REF, "partition": {"config": "a\nb"}}, "spec.partition.config"),
    "parameters without values": ("NodeSet", {**REF, "extraConf": "Weight=2 Features"}, "Key=Value"),
    "ssh without sssd": ("NodeSet", {**REF, "ssh": {"enabled": True}}, "spec.ssh.sssdConfRef"),
    "ssh with a nameless Secret": (
        "NodeSet",
        {**REF, "ssh": {"enabled": True, "sssdConfRef": {"key": "sssd.conf"}}},
        "must name a Secret",
    ),
    "login without sssd": ("LoginSet", REF, "spec.sssdConfRef"),
    "login with a nameless Secret": ("LoginSet", {**REF, "sssdConfRef": {"key": "x"}}, "must name an object"),
    "rest without a controller": ("RestApi", {}, "spec.controllerRef"),
    "a token for nobody": ("Token", {"jwtKeyRef": KEY}, "spec.username"),
    "a token without a key": ("Token", {"username": "slurm"}, "jwtKeyRef is required"),
}

UPDATES: dict[str, tuple[str, Spec, Spec, str]] = {
    "the JWT key by its new name": (
        "Controller",
        {"slurmKeyRef": KEY, "jwtHs256KeyRef": KEY},
        {"slurmKeyRef": KEY, "jwtKeyRef": KEY},
        "",
    ),
    "another JWT key": ("Controller", KEYED, {**KEYED, "jwtKeyRef": OTHER_KEY}, "JWT key cannot be changed"),
    "another JWT key for accounting": (
        "Accounting",
        KEYED,
        {**KEYED, "jwtKeyRef": OTHER_KEY},
        "JWT key cannot be changed",
    ),
    "another JWT key for a token": (
        "Token",
        {"username": "a", "jwtKeyRef": KEY},
        {"username": "a", "jwtKeyRef": OTHER_KEY},
        "JWT key cannot be changed",
    ),
    "another user": ("Token", {"username": "a", "jwtKeyRef": KEY}, {"username": "b", "jwtKeyRef": KEY}, ""),
    "another Slurm key": (
        "Controller",
        KEYED,
        {**KEYED, "slurmKeyRef": OTHER_KEY},
        "slurmKeyRef cannot be changed",
    ),
    "another key of the Secret": (
        "Controller",
        KEYED,
        {**KEYED, "slurmKeyRef": {"name": "keys", "key": "b"}},
        "",
    ),
    "another cluster name": (
        "Controller",
        {**KEYED, "clusterName": "a"},
        {**KEYED, "clusterName": "b"},
        "clusterName cannot be changed",
    ),
    "persistence off": (
        "Controller",
        KEYED,
        {**KEYED, "persistence": {"enabled": False}},
        "switched on or off",
    ),
    "persistence spelt out": ("Controller", KEYED, {**KEYED, "persistence": {"enabled": True}}, ""),
    "another claim": ("Controller", {**KEYED, **SHARED}, KEYED, "slurmctld's state cannot be changed"),
    "standbys added": ("Controller", {**KEYED, **SHARED}, {**KEYED, **SHARED, "ha": {"enabled": True}}, ""),
    "another controller": ("NodeSet", REF, {"controllerRef": {"name": "other"}}, "cannot be changed"),
    "another controller to log in to": (
        "LoginSet",
        LOGIN,
        {**LOGIN, "controllerRef": {"name": "other"}},
        "cannot be changed",
    ),
    "another controller to serve": ("RestApi", REF, {"controllerRef": {"name": "other"}}, ""),
    "more workers": ("NodeSet", REF, {**REF, "replicas": 7}, ""),
}


@pytest.mark.parametrize(("kind", "spec"), ACCEPTED.values(), ids=ACCEPTED)
def test_is_accepted(plane: ControlPlane, kind: str, spec: Spec) -> None:
    given = manifest(kind, spec)

    assert refusal(plane, "create", "--dry-run=server", "--validate=warn", of=given) == ""
    assert errors(given) == []
    assert getattr(slinky, kind).model_validate(given).spec


@pytest.mark.parametrize(("kind", "spec", "sentence"), REFUSED.values(), ids=REFUSED)
def test_is_refused(plane: ControlPlane, kind: str, spec: Spec, sentence: str) -> None:
    given = manifest(kind, spec)

    assert sentence in refusal(plane, "create", "--dry-run=server", of=given)
    assert sentence in "\n".join(errors(given))


@pytest.mark.parametrize(("kind", "old", "new", "sentence"), UPDATES.values(), ids=UPDATES)
def test_an_update_is_judged(plane: ControlPlane, kind: str, old: Spec, new: Spec, sentence: str) -> None:
    before = manifest(kind, old)
    after = manifest(kind, new, before["metadata"]["name"])
    plane.kubectl("create", "-f", "-", stdin=json.dumps(before))

    verdicts = refusal(plane, "replace", of=after), "\n".join(errors(after, before))

    assert all(sentence in verdict if sentence else verdict == "" for verdict in verdicts), verdicts


def test_defaults_appear_and_the_model_reads_them(plane: ControlPlane) -> None:
    def stored(kind: str, spec: Spec) -> dict[str, Any]:
        given = json.dumps(manifest(kind, spec))
        found: dict[str, Any] = json.loads(plane.kubectl("create", "-o", "json", "-f", "-", stdin=given))
        return found

    nodeset = stored("NodeSet", {**REF, "updateStrategy": {"rollingUpdate": {}, "scheduledUpdate": {}}})
    assert nodeset["spec"] == {
        **REF,
        "oversubscribeNode": False,
        "ordinalPadding": 0,
        "pinToNode": False,
        "pruneSlurmNodeRecords": "Never",
        "replicas": 1,
        "revisionHistoryLimit": 0,
        "scalingMode": "StatefulSet",
        "updateStrategy": {
            "type": "RollingUpdate",
            "rollingUpdate": {"maxUnavailable": "25%"},
            "scheduledUpdate": {"duration": "30m"},
        },
        "workloadDisruptionProtection": True,
    }
    assert slinky.NodeSet.model_validate(nodeset).metadata.namespace == NAMESPACE
    controller = stored(
        "Controller", {**KEYED, "ha": {}, "persistence": {}, "metrics": {"serviceMonitor": {}}}
    )
    assert controller["spec"] == {
        **KEYED,
        "external": False,
        "ha": {"enabled": False, "backups": 1},
        "inplaceReconfigure": False,
        "metrics": {"enabled": False, "serviceMonitor": {"enabled": False}},
        "persistence": {"enabled": True},
    }
    accounting = stored("Accounting", {**KEYED, "storageConfig": DATABASE})
    assert accounting["spec"]["storageConfig"] == {**DATABASE, "port": 3306, "database": "slurm_acct_db"}
    assert stored("LoginSet", LOGIN)["spec"]["replicas"] == stored("RestApi", REF)["spec"]["replicas"] == 1
    assert stored("Token", {"username": "a", "jwtKeyRef": KEY})["spec"]["refresh"] is True


def test_unknown_fields_are_dropped_and_free_ones_kept(plane: ControlPlane) -> None:
    container = {"image": "slurmd", "ports": [{"containerPort": 6818}], "ofTomorrow": {"a": [1, "b", None]}}
    claims = [{"metadata": {"name": "data", "odd": 1}, "spec": {"storageClassName": "fast"}}]
    given = manifest("NodeSet", {**REF, "pause": True, "slurmd": container, "volumeClaimTemplates": claims})

    arguments = ("create", "--validate=warn", "-o", "json", "-f", "-")
    stored = json.loads(plane.kubectl(*arguments, stdin=json.dumps(given)))
    nodeset = slinky.NodeSet.model_validate(stored)

    assert "pause" not in stored["spec"]
    assert nodeset.spec.slurmd == container
    assert nodeset.spec.volume_claim_templates == claims


SETS = (["DESIRED", "REPLICAS", "UPDATED", "READY", "AGE"], ["IDLE", "ALLOCATED", "DOWN", "DRAIN"])


@pytest.mark.parametrize(
    ("resource", "made", "columns", "wide"),
    [
        ("slurmctld", ("Controller", KEYED), ["AGE"], []),
        ("nss", ("NodeSet", REF), *SETS),
        ("slurmd", ("NodeSet", REF), *SETS),
        ("lss", ("LoginSet", LOGIN), ["REPLICAS", "AGE"], []),
        ("sackd", ("LoginSet", LOGIN), ["REPLICAS", "AGE"], []),
        ("slurmdbd", ("Accounting", KEYED), ["AGE"], []),
        ("slurmrestd", ("RestApi", REF), ["AGE"], []),
        ("jwt", ("Token", {"username": "a", "jwtKeyRef": KEY}), ["USER", "IAT", "AGE"], []),
    ],
)
def test_kubectl_shows_the_columns_under_the_short_name(
    plane: ControlPlane, resource: str, made: tuple[str, Spec], columns: list[str], wide: list[str]
) -> None:
    plane.kubectl("create", "-f", "-", stdin=json.dumps(manifest(*made)))

    narrow, broad = (
        plane.kubectl("get", "-n", NAMESPACE, resource, *layout).splitlines()[0].split()
        for layout in ((), ("-o", "wide"))
    )

    assert narrow == ["NAME", *columns]
    assert sorted(broad) == sorted(["NAME", *columns, *wide])


def test_sets_can_be_scaled(plane: ControlPlane) -> None:
    for kind, spec in (("NodeSet", REF), ("LoginSet", LOGIN)):
        given = manifest(kind, spec)
        plane.kubectl("create", "-f", "-", stdin=json.dumps(given))
        target = f"{kind.lower()}s.slinky.slurm.net/{given['metadata']['name']}"
        plane.kubectl("scale", "-n", NAMESPACE, target, "--replicas=5")

        assert plane.kubectl("get", "-n", NAMESPACE, target, "-o", "jsonpath={.spec.replicas}") == "5"


def test_status_is_written_through_its_subresource_alone(plane: ControlPlane) -> None:
    given = manifest("NodeSet", REF)
    status = {"nodeSetHash": "abc", "selector": "a=b", "replicas": 3, "ordinalToNode": None}
    plane.kubectl("create", "-f", "-", stdin=json.dumps({**given, "status": status}))
    target = f"nodesets.slinky.slurm.net/{given['metadata']['name']}"
    assert plane.kubectl("get", "-n", NAMESPACE, target, "-o", "jsonpath={.status}") == ""

    patch = json.dumps({"status": status})
    plane.kubectl("patch", "-n", NAMESPACE, target, "--subresource=status", "--type=merge", "-p", patch)
    stored = json.loads(plane.kubectl("get", "-n", NAMESPACE, target, "-o", "json"))

    nodeset = slinky.NodeSet.model_validate(stored)
    assert nodeset.status is not None
    assert (nodeset.status.replicas, nodeset.status.ordinal_to_node) == (3, {})


@pytest.mark.parametrize(
    ("path", "sentence"),
    [
        ("controllers.spec.ha.backups", "Number of standbys."),
        ("controllers.spec.persistence.resources", "VolumeResourceRequirements"),
        ("nodesets.spec.updateStrategy.rollingUpdate.maxUnavailable", "percentage that rounds up"),
        ("nodesets.status.slurmAllocated", "MIXED"),
        ("loginsets.spec.sssdConfRef", "sssd.conf"),
        ("accountings.spec.storageConfig", "database"),
        ("restapis.spec.controllerRef", "same namespace"),
        ("tokens.spec.lifetime", "15 minutes"),
    ],
)
def test_kubectl_explains(plane: ControlPlane, path: str, sentence: str) -> None:
    assert sentence in " ".join(
        plane.kubectl("explain", path, "--api-version=slinky.slurm.net/v1beta1").split()
    )
