"""Has what a user wrote the shape of the Kubernetes type that it will be read as?

The API server takes any object there. Admission tells more, with more words; this much is asked before
anything is built from it, so that builders meet no text where they expect a list, webhook or not.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from slurmery.api.core import definitions
from slurmery.api.fields import SENTENCE

_WORDS: Final = {
    "object": (dict, "an object"),
    "array": (list, "a list"),
    "string": (str, "a text"),
    "boolean": (bool, "true or false"),
    "integer": (int, "a whole number"),
}


def misfit(type_name: str, value: Any, path: str) -> str | None:
    """What does not fit, with its place; None if all does. A null fits everywhere: it says nothing."""
    return next(_misfits(definitions()[type_name], value, path), None)


def _misfits(schema: Mapping[str, Any], value: Any, path: str) -> Iterator[str]:
    if "$ref" in schema:
        schema = definitions()[schema["$ref"]]
    if value is None:
        return
    if "anyOf" in schema:
        yield from _scalar_misfits(schema, value, path)
        return
    kind, word = _WORDS.get(schema.get("type", ""), (object, ""))
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        yield f"{path} must be {word}"
    elif isinstance(value, dict):
        known, rest = schema.get("properties", {}), schema.get("additionalProperties", {})
        for name, part in value.items():
            yield from _misfits(known.get(name, rest), part, f"{path}.{name}")
    elif isinstance(value, list):
        for index, item in enumerate(value):
            if item is None and "items" in schema:
                yield f"{path}[{index}] must not be null"
            yield from _misfits(schema.get("items", {}), item, f"{path}[{index}]")


def _scalar_misfits(schema: Mapping[str, Any], value: Any, path: str) -> Iterator[str]:
    """A quantity, or a port by number or name: YAML writes them with and without quotes."""
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not number and not isinstance(value, str):
        yield f"{path} must be a number or a text"
    elif "pattern" in schema and not re.search(schema["pattern"], str(value)):
        yield f"{path} {schema.get(SENTENCE, 'is not well formed')}"
