"""What a schema says about a value by itself: its type, its limits, its form. Children are not looked at."""

import re
from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any

from slurmery.api.fields import SENTENCE, Schema

_NAMES = {
    "array": "a list",
    "boolean": "true or false",
    "integer": "a whole number",
    "number": "a number",
    "object": "an object",
    "string": "a text",
}
_TYPES = (
    (bool, "boolean"),  # before int, which it is a kind of
    (int, "integer"),
    (float, "number"),
    (str, "string"),
    (dict, "object"),
    (list, "array"),
)
_INT_OR_STRING = "x-kubernetes-int-or-string"
_RANGES = {"int32": 2**31, "int64": 2**63}


def complaints(schema: Schema, value: Any) -> Iterator[str]:
    """Sentences about what is wrong; the first is about the type, and then it is the only one."""
    found = _type(value)
    wanted = ["integer", "string"] if schema.get(_INT_OR_STRING) else [schema.get("type", found)]
    if found not in wanted and not (found == "integer" and wanted == ["number"]):
        yield f"must be {' or '.join(map(_NAMES.__getitem__, wanted))}, not {_NAMES.get(found, 'null')}"
        return
    if "enum" in schema and value not in schema["enum"]:
        yield f"must be one of {', '.join(map(str, schema['enum']))}; it is {value!r}"
    yield from _CHECKS.get(found, _nothing)(schema, value)


def _type(value: Any) -> str:
    return next((name for kind, name in _TYPES if isinstance(value, kind)), "null")


def _nothing(_schema: Schema, _value: Any) -> Iterator[str]:
    yield from ()


def _number(schema: Schema, value: float) -> Iterator[str]:
    if value < schema.get("minimum", value):
        yield f"must be at least {schema['minimum']}"
    if value > schema.get("maximum", value):
        yield f"must be at most {schema['maximum']}"
    size = _RANGES.get(schema.get("format", ""))
    if size and not -size <= value < size:
        yield f"does not fit into {schema['format']}"


def _text(schema: Schema, value: str) -> Iterator[str]:
    yield from _size(schema, len(value), "Length", "characters")
    pattern = schema.get("pattern")
    # Python's `$` also matches before a final newline; that of the API server does not.
    if pattern and not re.search(re.sub(r"\$$", r"\\Z", pattern), value):
        yield schema.get(SENTENCE, f"must match {pattern}")
    if schema.get("format") == "date-time" and not _is_time(value):
        yield "must be a time such as 2026-01-31T08:00:00Z"


def _is_time(value: str) -> bool:
    try:
        return datetime.fromisoformat(value).tzinfo is not None
    except ValueError:
        return False


def _list(schema: Schema, value: list[Any]) -> Iterator[str]:
    yield from _size(schema, len(value), "Items", "items")
    keys = schema.get("x-kubernetes-list-map-keys")
    if keys:
        value = [[item.get(key) for key in keys] for item in value if isinstance(item, dict)]
    if keys or schema.get("x-kubernetes-list-type") == "set":
        for twice in sorted({str(item) for item in value if value.count(item) > 1}):
            yield f"names {twice} more than once"


def _object(schema: Schema, value: dict[str, Any]) -> Iterator[str]:
    yield from _size(schema, len(value), "Properties", "entries")


def _size(schema: Schema, size: int, word: str, unit: str) -> Iterator[str]:
    least, most = schema.get(f"min{word}", 0), schema.get(f"max{word}", size)
    if size < least:
        yield "must not be empty" if least == 1 else f"must have at least {least} {unit}"
    if size > most:
        yield f"must have at most {most} {unit}; it has {size}"


_CHECKS: dict[str, Callable[[Schema, Any], Iterator[str]]] = {
    "array": _list,
    "integer": _number,
    "number": _number,
    "object": _object,
    "string": _text,
}
