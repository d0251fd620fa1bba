"""From a model to the structural schema of a CustomResourceDefinition.

Pydantic writes the JSON schema; what the API server wants otherwise is put right here: no references, no
titles, no `const`, optional instead of null, and object defaults spelt with the names users write.
Markers (`fields.py`) have added the x-kubernetes-* words by then. Rules stay `Rule` objects inside, because
`validation.py` runs them; `rendered` turns everything into plain JSON.
"""

from functools import cache
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import DEFAULT_REF_TEMPLATE, GenerateJsonSchema

from slurmery.api.fields import OURS, Schema
from slurmery.api.resource import CustomResource, Model
from slurmery.api.rules import RULES

_REF_PREFIX = DEFAULT_REF_TEMPLATE.partition("{")[0]


@cache
def schema(model: type[Model]) -> Schema:
    """The schema of a model, references written out, rules as `Rule` objects. Not to be changed."""
    generated = model.model_json_schema(schema_generator=_Generator)
    return _tidy(generated, generated.get("$defs", {}))


def resource_schema(kind: type[CustomResource]) -> Schema:
    """The schema of a whole object: what the API server owns is left to it."""
    whole = schema(kind)
    text = {"type": "string"}
    return {
        **whole,
        "properties": {
            **whole["properties"],
            "apiVersion": {"description": "Group and version of this object's schema.", **text},
            "kind": {"description": "Kind of this object.", **text},
            "metadata": {"type": "object"},
        },
    }


def rendered(part: Any) -> Any:
    """A schema as plain JSON, without what is only for us."""
    if isinstance(part, list):
        return [rendered(value) for value in part]
    if not isinstance(part, dict):
        return part
    plain = {
        word: rendered(value) for word, value in part.items() if word != RULES and not word.startswith(OURS)
    }
    rules = [rule.rendered() for rule in part.get(RULES, ()) if rule.cel]
    return plain | ({RULES: rules} if rules else {})


class _Generator(GenerateJsonSchema):
    def nullable_schema(self, schema: Any) -> Schema:
        return self.generate_inner(schema["schema"])

    def encode_default(self, dft: Any) -> Any:
        if isinstance(dft, BaseModel):
            return dft.model_dump(mode="json", by_alias=True, exclude_unset=True)
        return super().encode_default(dft)


_DROPPED = ("$defs", "$ref", "title", "const")


def _tidy(part: Schema, definitions: Schema) -> Schema:
    tidy = {word: value for word, value in part.items() if word not in _DROPPED}
    if part.get("default", "") is None:
        del tidy["default"]
    if "description" in part:
        tidy["description"] = " ".join(part["description"].split())
    if "$ref" in part:
        target = _tidy(definitions[part["$ref"].removeprefix(_REF_PREFIX)], definitions)
        rules = [*target.get(RULES, ()), *tidy.get(RULES, ())]
        return target | tidy | ({RULES: rules} if rules else {})
    if "const" in part:
        tidy["enum"] = [part["const"]]
    if "properties" in part:
        tidy["properties"] = {name: _tidy(field, definitions) for name, field in part["properties"].items()}
    for word in ("items", "additionalProperties"):
        if word in part:
            tidy[word] = _tidy(part[word], definitions)
    return tidy
