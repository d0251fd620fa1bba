"""Cut the Kubernetes types that our kinds embed out of the published OpenAPI definitions.

`python scripts/vendor_definitions.py` rewrites src/slurmery/api/core-definitions-<version>.json from the
installed kubernetes-validate package. The result is made for structural schemas: no nulls as types, no patch
strategies, no descriptions, quantities and int-or-strings spelt as the API server wants them, defaults for
list-map keys, and only what is reachable from ROOTS. One definition a line, so that updates can be reviewed.
"""

import json
import re
from importlib.resources import files
from pathlib import Path
from typing import Any

from slurmery.api.core import VERSION
from slurmery.api.fields import SENTENCE

TARGET = Path(__file__).parent.parent / "src/slurmery/api" / f"core-definitions-{VERSION}.json"

CORE = "io.k8s.api.core.v1."
META = "io.k8s.apimachinery.pkg.apis.meta.v1."
ROOTS = (
    *(
        CORE + kind
        for kind in (
            "Affinity",
            "Container",
            "EnvVar",
            "KeyToPath",
            "PersistentVolumeClaim",
            "PersistentVolumeClaimSpec",
            "PodTemplateSpec",
            "Probe",
            "ResourceRequirements",
            "ServiceSpec",
            "Toleration",
            "Volume",
            "VolumeMount",
            "VolumeSource",
        )
    ),
    "io.k8s.api.apps.v1.DeploymentStrategy",
)
KEPT = ("type", "format", "enum", "required", "properties", "items", "additionalProperties", "$ref")

ANY_NUMBER = {"anyOf": [{"type": "integer"}, {"type": "string"}], "x-kubernetes-int-or-string": True}
QUANTITY = (
    r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))"
    r"(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$"
)
STRINGS = {"type": "object", "additionalProperties": {"type": "string"}}
WRITTEN_BY_HAND: dict[str, dict[str, Any]] = {
    "io.k8s.apimachinery.pkg.util.intstr.IntOrString": ANY_NUMBER,
    "io.k8s.apimachinery.pkg.api.resource.Quantity": {
        **ANY_NUMBER,
        "pattern": QUANTITY,
        SENTENCE: "must be a quantity such as 4, 500m or 64Gi",
    },
    # Of the metadata of embedded objects only what a person writes.
    META + "ObjectMeta": {
        "type": "object",
        "properties": {
            "annotations": STRINGS,
            "finalizers": {"type": "array", "items": {"type": "string"}},
            "labels": STRINGS,
            "name": {"type": "string"},
            "namespace": {"type": "string"},
        },
    },
}
LIST_MAP_KEY_DEFAULTS = {"protocol": "TCP"}


def published() -> dict[str, Any]:
    """The definitions as kubernetes-validate ships them, and VolumeSource, which they inline in Volume."""
    folder = files("kubernetes_validate") / "kubernetes-json-schema" / f"v{VERSION}.0-local"
    found: dict[str, Any] = json.loads((folder / "_definitions.json").read_text())["$defs"]
    volume = found[CORE + "Volume"]
    sources = {name: schema for name, schema in volume["properties"].items() if name != "name"}
    return found | WRITTEN_BY_HAND | {CORE + "VolumeSource": {"type": "object", "properties": sources}}


def structural(schema: dict[str, Any]) -> dict[str, Any]:
    """The same schema with only the words a structural schema may use."""
    kept = {word: schema[word] for word in KEPT if word in schema}
    kept |= {word: value for word, value in schema.items() if re.match(r"x-kubernetes-(list|map)-", word)}
    if isinstance(kept.get("type"), list):
        [kept["type"]] = [name for name in kept["type"] if name != "null"]
    if "$ref" in kept:
        return {"$ref": kept["$ref"].rpartition("/")[2]}
    if "enum" in kept:
        kept["enum"] = [value for value in kept["enum"] if value is not None]
    if "properties" in kept:
        kept["properties"] = {name: structural(field) for name, field in kept["properties"].items()}
    for word in ("items", "additionalProperties"):
        if word in kept:
            kept[word] = structural(kept[word])
    return kept


def references(schema: Any) -> set[str]:
    """The names of all definitions that a schema refers to."""
    if isinstance(schema, list):
        return set().union(*map(references, schema))
    if not isinstance(schema, dict):
        return set()
    return {schema["$ref"]} if "$ref" in schema else references(list(schema.values()))


def give_list_map_keys_defaults(schema: Any, definitions: dict[str, Any]) -> None:
    """The API server wants each key of a list-map to be required or to have a default."""
    if isinstance(schema, list):
        for part in schema:
            give_list_map_keys_defaults(part, definitions)
    elif isinstance(schema, dict):
        item: dict[str, Any] = schema.get("items", {})
        item = definitions.get(item.get("$ref", ""), item)
        for key in set(schema.get("x-kubernetes-list-map-keys", ())) - set(item.get("required", ())):
            item["properties"][key]["default"] = LIST_MAP_KEY_DEFAULTS.get(key, "")
        give_list_map_keys_defaults(list(schema.values()), definitions)


def vendor() -> dict[str, Any]:
    """The definitions to keep, by name."""
    source, kept, wanted = published(), dict[str, Any](), set(ROOTS)
    while wanted:
        name = wanted.pop()
        kept[name] = source[name] if name in WRITTEN_BY_HAND else structural(source[name])
        wanted |= references(kept[name]) - kept.keys()
    give_list_map_keys_defaults(list(kept.values()), kept)
    return kept


def main() -> None:
    """Write the file."""
    lines = (
        f"{json.dumps(name)}:{json.dumps(body, separators=(',', ':'))}"
        for name, body in sorted(vendor().items())
    )
    TARGET.write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
