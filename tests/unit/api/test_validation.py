"""A bad manifest gets every error at once, with its path, in a sentence."""

from random import Random
from typing import Any

import hypothesis
import pytest
from hypothesis import strategies as st

from slurmery.api import slinky
from slurmery.api.fields import Schema
from slurmery.api.kinds import registry
from slurmery.api.resource import CustomResource
from slurmery.api.schema import resource_schema
from slurmery.api.validation import Problem, validate, with_defaults

KEY = {"name": "keys", "key": "key"}


def manifest(kind: str, **spec: Any) -> dict[str, Any]:
    metadata = {"name": "x", "namespace": "slurm"}
    return {"apiVersion": "slinky.slurm.net/v1beta1", "kind": kind, "metadata": metadata, "spec": spec}


def nodeset(**spec: Any) -> dict[str, Any]:
    return manifest("NodeSet", controllerRef={"name": "slurm"}, **spec)


def said(given: dict[str, Any], old: dict[str, Any] | None = None) -> list[str]:
    return sorted(map(str, validate(given, old)))


def test_a_good_manifest_has_no_problems() -> None:
    assert (
        validate(
            nodeset(replicas=3, slurmd={"image": "slurmd"}, template={"metadata": {"labels": {"a": "b"}}})
        )
        == []
    )


def test_all_faults_are_named_at_once() -> None:
    given = manifest(
        "Controller",
        clusterName="x" * 41,
        slurmKeyRef={"name": "keys"},
        configFileRefs=[{"name": "a"}, {"name": 5}],
        ha={"enabled": True, "backups": 0},
        metrics={"serviceMonitor": {"interval": "5 minutes", "endpoints": [{}]}},
        template={"metadata": {"labels": {"a": 1}}},
        external="no",
    )
    del given["metadata"]["name"]

    assert said(given) == [
        "metadata.name: is required",
        "spec.clusterName: must have at most 40 characters; it has 41",
        "spec.configFileRefs[1].name: must be a text, not a whole number",
        "spec.external: must be true or false, not a text",
        "spec.ha.backups: must be at least 1",
        "spec.metrics.serviceMonitor.endpoints[0].path: is required",
        "spec.metrics.serviceMonitor.interval: must be a duration such as 30s, 15m or 1d",
        "spec.slurmKeyRef.key: is required",
        "spec.template.metadata.labels[a]: must be a text, not a whole number",
        "spec: externalConfig is required when external is true",
        "spec: ha needs persistence with an existingClaim, a volume that all slurmctld pods share",
    ]


@pytest.mark.parametrize(
    ("spec", "problem"),
    [
        ({"replicas": 2**31}, "spec.replicas: does not fit into int32"),
        ({"replicas": 1.5}, "spec.replicas: must be a whole number, not a number"),
        ({"replicas": True}, "spec.replicas: must be a whole number, not true or false"),
        ({"scalingMode": "Job"}, "spec.scalingMode: must be one of StatefulSet, DaemonSet; it is 'Job'"),
        ({"partition": {"config": "a\n"}}, "spec.partition.config: must be one line of text"),
        ({"partition": []}, "spec.partition: must be an object, not a list"),
        ({"updateStrategy": {"scheduledUpdate": {"flags": "x"}}}, "flags: must be a list, not a text"),
        (
            {"updateStrategy": {"rollingUpdate": {"maxUnavailable": 1.5}}},
            "maxUnavailable: must be a whole number or a text, not a number",
        ),
        (
            {"updateStrategy": {"scheduledUpdate": {"startTime": "2027-01-01T00:00:00"}}},
            "startTime: must be a time such as 2026-01-31T08:00:00Z",
        ),
        ({"volumeClaimTemplates": {}}, "spec.volumeClaimTemplates: must be a list, not an object"),
        (
            {"template": {"spec": {"hostname": "GPU-"}}},
            "spec.template.spec.hostname: must be the beginning of",
        ),
        (
            {"slurmd": {"env": [{"name": "A", "value": 5}]}},
            "spec.slurmd.env[0].value: must be a text, not a whole number",
        ),
        (
            {"slurmd": {"resources": {"limits": {"memory": "64 GB"}}}},
            "spec.slurmd.resources.limits[memory]: must be a quantity such as",
        ),
        (
            {"slurmd": {"volumeMounts": [{"name": "a"}]}},
            "spec.slurmd.volumeMounts[0].mountPath: is required",
        ),
        (
            {"slurmd": {"env": [{"name": "A"}, {"name": "A"}]}},
            "spec.slurmd.env: names ['A'] more than once",
        ),
    ],
    ids=lambda value: str(value) if isinstance(value, str) else "",
)
def test_a_fault_is_a_sentence(spec: dict[str, Any], problem: str) -> None:
    [line] = said(nodeset(**spec))

    assert problem in line


@pytest.mark.parametrize(
    ("spec", "path", "sentence"),
    [
        ({"replcas": 2}, "spec.replcas", "is not a known field and will be dropped; did you mean replicas?"),
        ({"pause": True}, "spec.pause", "is not a known field and will be dropped"),
        (
            {"slurmd": {"imagePullPolcy": "Never"}},
            "spec.slurmd.imagePullPolcy",
            "is not a known field and will be dropped; did you mean imagePullPolicy?",
        ),
    ],
)
def test_unknown_fields_are_warned_of(spec: dict[str, Any], path: str, sentence: str) -> None:
    assert validate(nodeset(**spec)) == [Problem(path, sentence, warning=True)]


def test_a_fault_of_a_list_does_not_hide_those_of_its_items() -> None:
    env = [{"name": "A"}, {"name": "A", "value": 5}]

    assert said(nodeset(slurmd={"env": env})) == [
        "spec.slurmd.env: names ['A'] more than once",
        "spec.slurmd.env[1].value: must be a text, not a whole number",
    ]


def test_external_ips_are_warned_of() -> None:
    given = manifest("RestApi", controllerRef={"name": "a"}, service={"spec": {"externalIPs": ["10.0.0.1"]}})

    [problem] = validate(given)

    assert (problem.path, problem.warning) == ("spec.service.spec.externalIPs", True)


def test_a_missing_spec_is_an_error() -> None:
    given = manifest("Token")
    del given["spec"]

    assert said(given) == ["spec: is required"]


@pytest.mark.parametrize("given", [{}, {"apiVersion": "v1", "kind": "Pod"}, {"apiVersion": None, "kind": 5}])
def test_foreign_kinds_are_told_so(given: dict[str, Any]) -> None:
    [problem] = validate(given)

    assert problem.path == "kind"
    assert "is not one of our kinds" in problem.message


def test_updates_are_judged_against_the_old_object() -> None:
    claims = [{"metadata": {"name": "data"}}]
    old = nodeset(volumeClaimTemplates=claims)
    moved = manifest("NodeSet", controllerRef={"name": "other"}, volumeClaimTemplates=[])

    assert validate(old, old) == []
    assert said(moved, old) == [
        "spec.controllerRef: cannot be changed",
        "spec.volumeClaimTemplates: volumeClaimTemplates cannot be changed",
    ]


def test_a_long_derived_cluster_name_is_refused_at_creation_only() -> None:
    given = manifest("Controller", slurmKeyRef=KEY, jwtKeyRef=KEY)
    given["metadata"] = {"name": "x" * 40, "namespace": "slurm"}

    assert said(given) == [
        "spec.clusterName: is required, as namespace and name together are longer than 40 characters"
    ]
    assert validate(given, given) == []


def test_the_cluster_name_may_be_spelt_out_but_not_changed() -> None:
    old = manifest("Controller", slurmKeyRef=KEY, jwtKeyRef=KEY)
    spelt_out = manifest("Controller", slurmKeyRef=KEY, jwtKeyRef=KEY, clusterName="slurm_x")
    renamed = manifest("Controller", slurmKeyRef=KEY, jwtKeyRef=KEY, clusterName="other")

    assert validate(spelt_out, old) == []
    unlike_the_default = (
        "spec.clusterName: cannot be changed; when empty, it is the namespace and the name, joined by _"
    )
    assert said(renamed, old) == said(old, renamed) == [unlike_the_default]
    assert said(renamed, spelt_out) == ["spec.clusterName: clusterName cannot be changed"]


def test_defaults_are_filled_in_as_the_api_server_does() -> None:
    given = manifest(
        "Controller", ha={"backups": None}, configFileRefs=None, extraConf=None, slurmctld={"x": None}
    )

    assert with_defaults(resource_schema(slinky.Controller), given)["spec"] == {
        "external": False,
        "ha": {"enabled": False, "backups": 1},
        "inplaceReconfigure": False,
        "configFileRefs": None,
        "slurmctld": {"x": None},
    }


ODD: list[Any] = [None, True, -1, 1.5, "", "1m", "25%", "a=b", [], [None], {}, {"name": 1}, {"x": [{}]}]


def something(schema: Schema, chance: Random) -> Any:
    """A value as the schema has it, more or less: now and then there is something odd in it."""
    if chance.random() < 0.02:
        return chance.choice(ODD)
    if "enum" in schema:
        return chance.choice(schema["enum"])
    if "items" in schema:
        return [something(schema["items"], chance) for _ in range(chance.randrange(3))]
    if "properties" in schema:
        required = schema.get("required", ())
        fields = schema["properties"].items()
        return {
            name: something(part, chance)
            for name, part in fields
            if name in required or chance.random() < 0.4
        }
    scalars = {"integer": chance.randrange(70), "boolean": chance.random() < 0.5, "object": {}}
    return scalars.get(schema.get("type", ""), chance.choice(["", "5m", "a"]))


@pytest.mark.parametrize("kind", registry(), ids=lambda kind: f"{kind.place.plural}.{kind.place.group}")
@hypothesis.settings(max_examples=100, deadline=None)
@hypothesis.given(seed=st.integers(0, 2**32))
def test_whatever_is_written_gets_an_answer_and_what_is_accepted_can_be_read(
    kind: type[CustomResource], seed: int
) -> None:
    identity = {"apiVersion": kind.place.api_version, "kind": kind.place.kind, "metadata": {"name": "x"}}
    chance, schema = Random(seed), resource_schema(kind)
    old, new = ({"spec": something(schema["properties"]["spec"], chance), **identity} for _ in range(2))

    if all(problem.warning for problem in validate(new, old)):
        kind.model_validate(new)
