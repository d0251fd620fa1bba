"""One declaration gives the CRD, the defaults and the object that we read."""

import json
from collections.abc import Iterator
from typing import Annotated, Any, Literal

import kubernetes_validate
import pytest
from pydantic import Field, ValidationError

from scripts import vendor_definitions
from slurmery.api import core
from slurmery.api.crd import crd
from slurmery.api.fields import (
    Atomic,
    Core,
    Free,
    Inline,
    Int32,
    IntOrString,
    Items,
    ListMap,
    ListSet,
    Manifest,
    Nullable,
    Quantity,
    StringMap,
    Time,
    absent,
)
from slurmery.api.kinds import registry
from slurmery.api.resource import AGE, CustomResource, Inlining, Model, Scale
from slurmery.api.rules import Change, Immutable, Rule
from slurmery.api.schema import rendered, schema

KINDS = registry()
BY_NAME = [f"{kind.place.api_version} {kind.place.kind}" for kind in KINDS]


class Sail(Model, markers=(Atomic(),)):
    """Cloth in the
    wind."""

    name: str = ""
    """What it is called."""
    area: Int32 | None = None
    """How large it is."""


class Hold(Inlining, markers=(Inline("io.k8s.api.core.v1.PersistentVolumeClaimSpec"),)):
    """Room for cargo."""

    tight: bool = True
    """Whether water stays out."""


class ShipSpec(Model, markers=(Rule("has(self.mast)", "no mast", holds=lambda spec: "mast" in spec),)):
    """A ship."""

    mast: str
    """The tall part."""
    rig: Literal["sloop", "ketch"] = "sloop"
    """How it is rigged."""
    flag: Literal["red"] = "red"
    """Its colour."""
    jib: Sail = Sail(name="jib")
    """The first sail."""
    spare: Annotated[Sail, Immutable()] | None = None
    """A sail below deck."""
    sails: Annotated[Items[Sail], ListMap("name"), Nullable()] = absent(())
    """All sails."""
    ports: Annotated[Items[str], ListSet(), Field(max_length=3)] = ()
    """Where it calls."""
    crew: Annotated[Int32, Field(ge=1, le=9)] = 2
    """Hands on deck."""
    ballast: Quantity = "64Gi"
    """Weight below."""
    reef: IntOrString = "25%"
    """How much sail is taken in."""
    launched: Time | None = None
    """When it first swam."""
    pod: Annotated[Manifest, Core("io.k8s.api.core.v1.PodTemplateSpec")] = absent({})
    """A pod template."""
    cargo: Annotated[Manifest, Free("io.k8s.api.core.v1.Container")] = absent({})
    """Anything."""
    labels: StringMap = absent({})
    """Words painted on."""
    hold: Hold = absent(Hold())
    """Room for cargo."""
    log_text: str = Field(default_factory=str, alias="logTEXT")
    """The log book."""


class Ship(
    CustomResource,
    group="sea.example.org",
    version="v1",
    plural="ships",
    short_names=("sh",),
    columns=(AGE,),
    scale=Scale(spec=".spec.crew"),
    status=False,
):
    """A ship at sea."""

    spec: ShipSpec
    """A ship."""


def field(name: str) -> dict[str, Any]:
    found: dict[str, Any] = rendered(schema(ShipSpec))["properties"][name]
    return found


def parts(node: dict[str, Any], path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Every schema inside a schema, with its path."""
    yield path, node
    for name, child in node.get("properties", {}).items():
        yield from parts(child, f"{path}.{name}")
    for word in ("items", "additionalProperties"):
        if word in node:
            yield from parts(node[word], f"{path}[]")


def whole_schema(kind: type[CustomResource]) -> dict[str, Any]:
    found: dict[str, Any] = crd(kind)["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    return found


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("mast", {"type": "string", "description": "The tall part."}),
        (
            "rig",
            {
                "type": "string",
                "enum": ["sloop", "ketch"],
                "default": "sloop",
                "description": "How it is rigged.",
            },
        ),
        ("flag", {"type": "string", "enum": ["red"], "default": "red", "description": "Its colour."}),
        (
            "crew",
            {
                "type": "integer",
                "format": "int32",
                "minimum": 1,
                "maximum": 9,
                "default": 2,
                "description": "Hands on deck.",
            },
        ),
        (
            "ports",
            {
                "type": "array",
                "items": {"type": "string"},
                "maxItems": 3,
                "default": [],
                "x-kubernetes-list-type": "set",
                "description": "Where it calls.",
            },
        ),
        (
            "reef",
            {
                "anyOf": [{"type": "integer"}, {"type": "string"}],
                "x-kubernetes-int-or-string": True,
                "default": "25%",
                "description": "How much sail is taken in.",
            },
        ),
        ("launched", {"type": "string", "format": "date-time", "description": "When it first swam."}),
        (
            "cargo",
            {"type": "object", "x-kubernetes-preserve-unknown-fields": True, "description": "Anything."},
        ),
        (
            "labels",
            {
                "type": "object",
                "additionalProperties": {"type": "string"},
                "description": "Words painted on.",
            },
        ),
        ("logTEXT", {"type": "string", "description": "The log book."}),
    ],
)
def test_a_field_has_this_schema(name: str, expected: dict[str, Any]) -> None:
    assert field(name) == expected


def test_models_are_written_out_where_they_are_used() -> None:
    assert field("jib") == {
        "type": "object",
        "description": "The first sail.",
        "default": {"name": "jib"},
        "x-kubernetes-map-type": "atomic",
        "properties": {
            "name": {"type": "string", "default": "", "description": "What it is called."},
            "area": {"type": "integer", "format": "int32", "description": "How large it is."},
        },
    }
    assert field("sails")["items"]["description"] == "Cloth in the wind."
    assert field("sails")["nullable"] is True
    assert field("sails")["x-kubernetes-list-map-keys"] == ["name"]


def test_rules_become_cel() -> None:
    assert rendered(schema(ShipSpec))["x-kubernetes-validations"] == [
        {"rule": "has(self.mast)", "message": "no mast"}
    ]
    assert field("spare")["x-kubernetes-validations"] == [
        {"rule": "self == oldSelf", "message": "cannot be changed"}
    ]


def test_rules_of_model_and_field_add_up_and_those_without_cel_stay_at_home() -> None:
    class Anchor(Model, markers=(Rule("self.a", "first", holds=bool), Rule("", "ours", holds=bool))):
        chain: int = 1

    class Deck(Model):
        anchor: Annotated[Anchor, Change("self.b", "second", holds=bool, path=".chain")]

    assert rendered(schema(Deck))["properties"]["anchor"]["x-kubernetes-validations"] == [
        {"rule": "self.a", "message": "first"},
        {"rule": "self.b", "message": "second", "fieldPath": ".chain"},
    ]


def test_an_inlined_type_lies_beside_our_own_fields() -> None:
    assert field("hold")["properties"].keys() > {"tight", "accessModes", "storageClassName", "resources"}
    assert "additionalProperties" not in field("hold")

    hold = Hold.model_validate(
        {"tight": False, "accessModes": ["ReadWriteMany"], "resources": {"requests": {}}}
    )

    assert hold.inlined == {"accessModes": ["ReadWriteMany"], "resources": {"requests": {}}}


def test_a_kind_says_where_it_lives() -> None:
    spec = crd(Ship)["spec"]

    assert crd(Ship)["metadata"]["name"] == "ships.sea.example.org"
    assert spec["names"] == {
        "kind": "Ship",
        "listKind": "ShipList",
        "plural": "ships",
        "singular": "ship",
        "shortNames": ["sh"],
    }
    [version] = spec["versions"]
    assert version["subresources"] == {
        "scale": {
            "specReplicasPath": ".spec.crew",
            "statusReplicasPath": ".status.replicas",
            "labelSelectorPath": ".status.selector",
        }
    }
    assert version["additionalPrinterColumns"] == [
        {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"}
    ]
    assert whole_schema(Ship)["required"] == ["spec"]
    assert whole_schema(Ship)["properties"]["metadata"] == {"type": "object"}


def test_the_last_of_several_versions_is_stored() -> None:
    class Newer(CustomResource, group="sea.example.org", version="v2", plural="ships"):
        spec: ShipSpec

    versions = crd(Ship, Newer)["spec"]["versions"]

    assert [(version["name"], version["storage"]) for version in versions] == [("v1", False), ("v2", True)]


def test_defaults_are_those_of_the_schema() -> None:
    spec = ShipSpec(mast="oak")

    assert (spec.rig, spec.crew, spec.reef, spec.jib, spec.ports) == ("sloop", 2, "25%", Sail(name="jib"), ())
    assert (spec.spare, spec.sails, spec.labels, spec.log_text) == (None, (), {}, "")


def test_embedded_types_pass_through_unchanged() -> None:
    pod = {
        "metadata": {"labels": {"a": "b"}},
        "spec": {
            "containers": [
                {"name": "x", "resources": {"limits": {"cpu": "0.50", "memory": 1}}, "new": [None, 1.0]}
            ]
        },
    }
    before = json.dumps(pod)

    spec = ShipSpec.model_validate({"mast": "oak", "pod": pod, "cargo": pod})

    assert json.dumps(spec.pod) == json.dumps(spec.cargo) == before
    assert json.dumps(spec.model_dump(by_alias=True)["pod"]) == before


def test_a_null_reads_as_absent_and_unknown_fields_are_ignored() -> None:
    spec = ShipSpec.model_validate({"mast": "oak", "crew": None, "sails": None, "spare": None, "keel": 1})

    assert spec == ShipSpec(mast="oak")


@pytest.mark.parametrize(
    "wrong",
    [
        {"crew": "2"},
        {"crew": True},
        {"crew": 2.0},
        {"mast": 1},
        {"reef": True},
        {"ports": "one"},
        {"launched": "x"},
    ],
    ids=str,
)
def test_nothing_is_taken_for_something_else(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        ShipSpec.model_validate({"mast": "oak", **wrong})


def test_models_cannot_be_changed() -> None:
    with pytest.raises(ValidationError, match="frozen"):
        Sail().name = "x"


@pytest.mark.parametrize("kind", KINDS, ids=BY_NAME)
def test_every_crd_is_a_valid_manifest_of_bearable_size(kind: type[CustomResource]) -> None:
    manifest = crd(kind)

    kubernetes_validate.validate(manifest, core.VERSION, strict=True)
    assert len(json.dumps(manifest)) < 1_000_000


@pytest.mark.parametrize("kind", KINDS, ids=BY_NAME)
def test_every_schema_is_structural(kind: type[CustomResource]) -> None:
    for path, node in parts(whole_schema(kind)):
        free = node.get("x-kubernetes-preserve-unknown-fields") or node.get("x-kubernetes-int-or-string")
        assert "type" in node or free, f"{path} has no type"
        assert not node.keys() & {"$ref", "$defs", "title", "const", "allOf", "oneOf"}, path
        assert node.get("default", "") is not None, path
        for key in node.get("x-kubernetes-list-map-keys", ()):
            item = node["items"]
            assert key in item.get("required", ()) or "default" in item["properties"][key], f"{path}: {key}"


def models(parent: type[Model] = Model) -> Iterator[type[Model]]:
    """Every model of the package."""
    for model in parent.__subclasses__():
        if model.__module__.startswith("slurmery.") and model.__module__ != CustomResource.__module__:
            yield model
        yield from models(model)


def test_every_field_of_ours_is_described() -> None:
    silent = {
        f"{model.__name__}.{name}"
        for model in models()
        for name, declared in model.model_fields.items()
        if not declared.description
        and not (issubclass(model, CustomResource) and name in CustomResource.model_fields)
    }

    assert silent == set()


def test_the_vendored_definitions_are_those_that_the_script_makes() -> None:
    assert core.definitions() == vendor_definitions.vendor()
    assert vendor_definitions.TARGET.stat().st_size < 300_000
