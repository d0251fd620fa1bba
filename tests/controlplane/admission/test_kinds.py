"""Our kinds, judged through a real ValidatingWebhookConfiguration."""

import json
from typing import Any

import pytest

from slurmery.admission import hooks
from slurmery.kube.errors import InvalidError
from slurmery.kube.meta import Key
from tests.controlplane.admission.conftest import until
from tests.controlplane.admission.world import Manifest, World, resource
from tests.controlplane.api.nebius_specimens import CLUSTER, NEW_CLUSTER, NODESET

KEY = {"name": "keys", "key": "key"}
OTHER_KEY = {"name": "keys", "key": "other"}
KEYED = {"slurmKeyRef": KEY, "jwtKeyRef": KEY}
REF = {"controllerRef": {"name": "slurm"}}
LOGIN = {**REF, "sssdConfRef": KEY}
EXTERNAL = {"external": True, "externalConfig": {"host": "slurm.example.org", "port": 6817}}
DATABASE = {"host": "mariadb", "passwordKeyRef": KEY}
EXPOSED = {"service": {"spec": {"externalIPs": ["192.0.2.1"]}}}

Case = tuple[str, dict[str, Any]]


def shared(claim: str) -> dict[str, Any]:
    return {**KEYED, "persistence": {"existingClaim": claim}, "ha": {"enabled": True}}


def files(*names: str) -> dict[str, Any]:
    return {**KEYED, "configFileRefs": [{"name": name} for name in names]}


@pytest.fixture
async def furnished(guarded: World) -> World:
    """The namespace with the objects that the tables below refer to."""
    claims = {"many": "ReadWriteMany", "once": "ReadWriteOnce"}
    maps = {"good": "gres.conf", "reserved": "slurm.conf", "database": "slurmdbd.conf", "odd": "notes.txt"}
    storage = {"requests": {"storage": "1Gi"}}
    await guarded.create(
        guarded.manifest("v1", "Secret", "keys", stringData={"key": "x", "other": "y"}),
        *(guarded.manifest("v1", "ConfigMap", name, data={key: ""}) for name, key in maps.items()),
        *(
            guarded.manifest(
                "v1", "PersistentVolumeClaim", name, spec={"accessModes": [mode], "resources": storage}
            )
            for name, mode in claims.items()
        ),
        guarded.slinky("Controller", "slurm", **KEYED),
    )
    return guarded


# What is created, and what people are warned of.
TAKEN: dict[str, tuple[Case, list[str]]] = {
    "a controller": (("Controller", KEYED), []),
    "configuration files": (("Controller", files("good")), []),
    "a file that Slurm does not know": (("Controller", files("odd")), ["has the key notes.txt"]),
    "standbys that share a volume": (("Controller", shared("many")), []),
    "standbys whose volume comes later": (("Controller", shared("later")), ["later does not exist yet"]),
    "a controller outside": (("Controller", EXTERNAL), ["slurmKeyRef", "jwtKeyRef"]),
    "a Secret that comes later": (
        ("Controller", {**KEYED, "slurmKeyRef": {"name": "later", "key": "key"}}),
        ["spec.slurmKeyRef: Secret later does not exist yet"],
    ),
    "a key that comes later": (
        ("Controller", {**KEYED, "slurmKeyRef": {"name": "keys", "key": "later"}}),
        ["spec.slurmKeyRef: Secret keys has no key later yet"],
    ),
    "an exposed controller": (("Controller", {**KEYED, **EXPOSED}), ["externalIPs"]),
    "an exposed accounting": (
        ("Accounting", {**KEYED, "storageConfig": DATABASE, **EXPOSED}),
        ["externalIPs"],
    ),
    "an accounting without a database": (("Accounting", KEYED), ["storageConfig"]),
    "an exposed REST API": (("RestApi", {**REF, **EXPOSED}), ["externalIPs"]),
    "an exposed login": (("LoginSet", {**LOGIN, **EXPOSED}), ["externalIPs"]),
    "a login": (("LoginSet", LOGIN), []),
    "workers": (("NodeSet", {**REF, "template": {"spec": {"hostname": "foo-"}}}), []),
    "workers whose controller comes later": (
        ("NodeSet", {"controllerRef": {"name": "later"}}),
        ["spec.controllerRef: Controller later does not exist yet"],
    ),
    "pinned daemons": (("NodeSet", {**REF, "scalingMode": "DaemonSet", "pinToNode": True}), ["pinToNode"]),
    "a token": (("Token", {"username": "ada", "jwtKeyRef": KEY}), []),
    "a token of an odd user": (("Token", {"username": "a_b", "jwtKeyRef": KEY}), ["name one in secretRef"]),
}
REFUSED: dict[str, tuple[Case, str]] = {
    "a long cluster name": (("Controller", {**KEYED, "clusterName": "x" * 41}), "clusterName"),
    "a file that is generated": (("Controller", files("reserved")), "spec.configFileRefs[0]: ConfigMap"),
    "the database's file": (("Controller", files("good", "database")), "must not have the key slurmdbd.conf"),
    "a missing ConfigMap": (("Controller", files("nowhere")), "ConfigMap nowhere does not exist"),
    "standbys on a volume for one": (("Controller", shared("once")), "needs the access mode ReadWriteMany"),
    "a login without a controller": (
        ("LoginSet", {**LOGIN, "controllerRef": {"name": ""}}),
        "spec.controllerRef.name",
    ),
    "a login without users": (("LoginSet", {**LOGIN, "sssdConfRef": {"key": "k"}}), "spec.sssdConfRef.name"),
    "workers without a controller": (("NodeSet", {"controllerRef": {}}), "spec.controllerRef.name"),
    "no progress": (
        ("NodeSet", {**REF, "updateStrategy": {"rollingUpdate": {"maxUnavailable": "0%"}}}),
        "maxUnavailable",
    ),
    "ssh without users": (
        ("NodeSet", {**REF, "ssh": {"enabled": True, "sssdConfRef": {"key": "k"}}}),
        "spec.ssh.sssdConfRef",
    ),
    "a host name with a line break": (
        ("NodeSet", {**REF, "template": {"spec": {"hostname": "a\nb"}}}),
        "spec.template.spec.hostname",
    ),
    "words that are no parameters": (("NodeSet", {**REF, "extraConf": "Gres"}), "spec.extraConf"),
    "a container that is none": (("RestApi", {**REF, "slurmrestd": {"image": 5}}), "spec.slurmrestd.image"),
}
CHANGES: dict[str, tuple[Case, dict[str, Any], str]] = {
    "the cluster's name": (("Controller", KEYED), {"clusterName": "other"}, "clusterName"),
    "the Slurm Secret": (("Controller", KEYED), {"slurmKeyRef": {"name": "good"}}, "slurmKeyRef"),
    "the Slurm key": (("Controller", KEYED), {"slurmKeyRef": OTHER_KEY}, ""),
    "the JWT key": (("Token", {"username": "ada", "jwtKeyRef": KEY}), {"jwtKeyRef": OTHER_KEY}, "JWT key"),
    "persistence": (("Controller", KEYED), {"persistence": {"enabled": False}}, "persistence"),
    "standbys": (("Controller", shared("many")), {"ha": {"enabled": False}}, ""),
    "standbys on a volume for one": (
        ("Controller", {**KEYED, "persistence": {"existingClaim": "once"}}),
        {"ha": {"enabled": True}},
        "ReadWriteMany",
    ),
    "the controller of workers": (("NodeSet", REF), {"controllerRef": {"name": "b"}}, "controllerRef"),
    "the volumes of workers": (
        ("NodeSet", REF),
        {"volumeClaimTemplates": [{"metadata": {"name": "a"}}]},
        "volumeClaimTemplates",
    ),
    "the controller of logins": (("LoginSet", LOGIN), {"controllerRef": {"name": "b"}}, "controllerRef"),
    "the number of workers": (("NodeSet", REF), {"replicas": 3}, ""),
}


async def test_what_is_good_is_taken_with_the_warnings_it_deserves(furnished: World) -> None:
    for number, (title, ((kind, spec), expected)) in enumerate(TAKEN.items()):
        manifest = furnished.slinky(kind, f"taken-{number}", **spec)
        warnings = await furnished.warnings(manifest)
        assert len(warnings) == len(expected), (title, warnings)
        assert all(words in warning for words, warning in zip(expected, warnings, strict=True)), title
        assert await furnished.refusal(manifest) == "", title


async def test_what_is_wrong_is_refused_in_words(furnished: World) -> None:
    for number, (title, ((kind, spec), words)) in enumerate(REFUSED.items()):
        assert words in await furnished.refusal(furnished.slinky(kind, f"refused-{number}", **spec)), title


async def test_a_name_too_long_for_slurm_is_refused(furnished: World) -> None:
    long = furnished.slinky("Controller", "x" * 30, **KEYED)
    assert "spec.clusterName: is required" in await furnished.refusal(long)
    assert await furnished.refusal({**long, "spec": {**KEYED, "clusterName": "short"}}) == ""


async def test_what_must_stay_cannot_be_changed(furnished: World) -> None:
    for number, (title, ((kind, spec), change, words)) in enumerate(CHANGES.items()):
        manifest = furnished.slinky(kind, f"changed-{number}", **spec)
        await furnished.create(manifest)
        refusal = await furnished.change(manifest, {"spec": change})
        assert words in refusal, title
        assert bool(words) == bool(refusal), (title, refusal)


async def test_every_error_is_said_at_once_with_its_field(furnished: World) -> None:
    spec = {**shared("once"), "configFileRefs": [{"name": "reserved"}, {"name": "nowhere"}]}
    spec["slurmctld"] = {"image": 5}
    wrong = furnished.slinky("Controller", **spec)

    with pytest.raises(InvalidError) as refusal:
        await furnished.create(wrong)

    assert {cause.field for cause in refusal.value.causes} == {
        "spec.slurmctld.image",
        "spec.configFileRefs[0]",
        "spec.configFileRefs[1]",
        "spec.persistence.existingClaim",
    }
    with pytest.raises(AssertionError) as shown:
        await furnished.kubectl("create", "-f", "-", stdin=json.dumps(wrong))
    assert "* spec.slurmctld.image: " in str(shown.value)
    assert "* spec.persistence.existingClaim: with ha, PersistentVolumeClaim once" in str(shown.value)


async def test_an_object_that_is_no_longer_acceptable_can_be_labelled_and_deleted(furnished: World) -> None:
    name, finalizer = "stale", "slurmery.test/wait"
    stale = furnished.slinky("Controller", name, **files("good"))
    stale["metadata"]["finalizers"] = [finalizer]
    await furnished.create(stale)
    good = furnished.manifest("v1", "ConfigMap", "good")
    assert await furnished.removal(good) == ""

    assert "does not exist" in await furnished.change(stale, {"spec": {"extraConf": "Foo=bar"}})
    assert await furnished.change(stale, {"metadata": {"labels": {"a": "b"}}}) == ""
    assert await furnished.removal(stale) == ""
    assert await furnished.change(stale, {"metadata": {"finalizers": None}}) == ""

    async def gone() -> bool:
        listing = await furnished.client.list(resource(stale), furnished.namespace)
        return name not in {live["metadata"]["name"] for live in listing.items}

    await until(gone)


async def test_an_api_server_that_asks_in_v1beta1_is_answered(guarded: World, world: World) -> None:
    async def asks_in(version: str) -> None:
        port = await _port(guarded)
        await world.configure(port, hooks.SLINKY, admissionReviewVersions=[version])

    faulty = guarded.slinky("RestApi", "faulty", **REF, slurmrestd={"image": 5})
    await asks_in("v1beta1")
    assert "slurmrestd.image" in await guarded.refusal(faulty)
    assert await guarded.refusal(guarded.slinky("RestApi", "good", **REF)) == ""


async def _port(world: World) -> int:
    listing = json.loads(
        await world.kubectl("get", "validatingwebhookconfigurations", world.namespace, "-o=json")
    )
    url: str = listing["webhooks"][0]["clientConfig"]["url"]
    return int(url.split("/")[2].rpartition(":")[2])


def isolated(world: World, memory: str | None, **limits: Any) -> Manifest:
    spec = json.loads(json.dumps(NEW_CLUSTER["spec"]))
    login = spec["slurmNodes"]["login"]
    login["sshd"]["resources"] = {"memory": memory} if memory else {}
    login["userIsolation"] = {"enabled": True, **limits}
    return world.manifest("slurm.nebius.ai/v1", "SlurmCluster", "cluster", spec=spec)


ISOLATION: dict[str, tuple[dict[str, Any], str]] = {
    "a good maximum": ({"memoryMax": "8Gi"}, ""),
    "a good threshold": ({"memoryHigh": "8Gi"}, ""),
    "both": ({"memoryHigh": "1Gi", "memoryMax": "2Gi"}, ""),
    "a maximum below the derived threshold": ({"memoryMax": "7Gi"}, "userIsolation.memoryMax"),
    "a threshold above the derived maximum": ({"memoryHigh": "8500Mi"}, "userIsolation.memoryHigh"),
    "all the memory": ({"memoryMax": "9Gi"}, "less than the memory of sshd"),
    "more than all the memory": ({"memoryHigh": "10Gi"}, "less than the memory of sshd"),
    "less than nothing": ({"memoryHigh": "-1Gi"}, "more than 0"),
    "anything, switched off": ({"memoryHigh": "10Gi", "enabled": False}, ""),
}


async def test_users_on_login_nodes_are_kept_within_the_memory_there_is(guarded: World) -> None:
    for title, (limits, words) in ISOLATION.items():
        cluster = isolated(guarded, "9Gi", **limits)
        refusal = await guarded.refusal(cluster)
        assert words in refusal, title
        assert bool(words) == bool(refusal), (title, refusal)
        if not refusal:
            assert await guarded.removal(cluster) == ""


async def test_clusters_of_both_generations_and_their_nodes_are_taken(guarded: World) -> None:
    for number, specimen in enumerate((CLUSTER, NEW_CLUSTER, NODESET)):
        manifest = {**specimen, "metadata": {"name": f"x-{number}", "namespace": guarded.namespace}}
        assert await guarded.refusal(manifest) == ""
    cluster = {**NEW_CLUSTER, "metadata": {"name": "y", "namespace": guarded.namespace}}
    warnings = await guarded.warnings(cluster)
    assert any("PersistentVolumeClaim jail-pvc does not exist yet" in warning for warning in warnings)


async def test_nodesets_cannot_be_mixed_into_a_cluster_with_workers_of_its_own(guarded: World) -> None:
    spec = json.loads(json.dumps(CLUSTER["spec"]))
    spec["partitionConfiguration"] = {
        "configType": "structured",
        "partitions": [{"name": "main", "nodeSetRefs": ["gpu"]}],
    }
    mixed = guarded.manifest("slurm.nebius.ai/v1", "SlurmCluster", "mixed", spec=spec)
    assert "partitions[0].nodeSetRefs: cannot be used together" in await guarded.refusal(mixed)


async def test_namespaces_that_are_not_watched_over_are_let_alone(guarded: World) -> None:
    faulty = guarded.slinky("RestApi", "elsewhere", **REF, slurmrestd={"image": 5})
    faulty["metadata"]["namespace"] = "default"
    await guarded.client.create(resource(faulty), faulty)
    await guarded.client.delete(resource(faulty), Key("default", "elsewhere"))
