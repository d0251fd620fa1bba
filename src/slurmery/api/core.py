"""Kubernetes' own types, as structural schemas.

The definitions are cut from the published OpenAPI by scripts/vendor_definitions.py; here references are only
written out in place, since a CustomResourceDefinition may not contain any.
"""

import json
from functools import cache
from importlib.resources import files
from typing import Any

VERSION = "1.37"


@cache
def definitions() -> dict[str, dict[str, Any]]:
    """Every vendored definition by its OpenAPI name, with references between them."""
    text = (files(__package__) / f"core-definitions-{VERSION}.json").read_text()
    loaded: dict[str, dict[str, Any]] = json.loads(text)
    return loaded


def definition(name: str) -> dict[str, Any]:
    """The structural schema of one type, e.g. `io.k8s.api.core.v1.Container`."""
    written_out: dict[str, Any] = _written_out(definitions()[name])
    return written_out


def _written_out(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_written_out(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        name = schema["$ref"]
        return {"description": f"A Kubernetes {name.rpartition('.')[2]}.", **definition(name)}
    return {word: _written_out(value) for word, value in schema.items()}
