"""Everything that is wrong with a manifest, at once, with its path, in sentences.

The schema that the API server gets is walked here too, so the answers agree with the server's. Beyond that,
rules that CEL cannot say are run, free-form fields are compared with the Kubernetes type that they will be
read as, and fields that would be dropped in silence are named. Faults do not hide each other: a rule is
judged even when another field of its object is wrong, unless it cannot be.
"""

import difflib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from slurmery.api import core
from slurmery.api.fields import HINT, PRESERVE, Manifest, Schema
from slurmery.api.kinds import find
from slurmery.api.limits import complaints
from slurmery.api.rules import RULES, Rule
from slurmery.api.schema import resource_schema


@dataclass(frozen=True, order=True)
class Problem:
    """One fault; a warning is worth knowing, but nothing is refused for it."""

    path: str
    message: str
    warning: bool = False

    def __str__(self) -> str:
        return f"{'warning: ' if self.warning else ''}{self.path}: {self.message}"


def validate(manifest: Manifest, old: Manifest | None = None) -> list[Problem]:
    """All problems of a manifest: of its creation or, with `old`, of the update from that."""
    kind = find(str(manifest.get("apiVersion", "")), str(manifest.get("kind", "")))
    if kind is None:
        return [
            Problem("kind", f"{manifest.get('apiVersion')} {manifest.get('kind')} is not one of our kinds")
        ]
    schema = resource_schema(kind)
    return [
        *_metadata(manifest.get("metadata")),
        *_check(schema, with_defaults(schema, manifest), with_defaults(schema, old), ""),
    ]


def with_defaults(schema: Schema, value: Any) -> Any:
    """The value as the API server would complete it: defaults filled in, meaningless nulls gone."""
    if isinstance(value, list) and "items" in schema:
        return [with_defaults(schema["items"], item) for item in value]
    if not isinstance(value, dict):
        return value
    rest, properties = schema.get("additionalProperties", {}), schema.get("properties", {})
    given = {
        name: with_defaults(properties.get(name, rest), part)
        for name, part in value.items()
        if part is not None or properties.get(name, {}).get("nullable", name not in properties)
    }
    missing = {
        name: with_defaults(part, part["default"])
        for name, part in properties.items()
        if name not in given and "default" in part
    }
    return given | missing


def _metadata(metadata: Any) -> Iterator[Problem]:
    if not isinstance(metadata, dict) or not (metadata.get("name") or metadata.get("generateName")):
        yield Problem("metadata.name", "is required")


def _check(schema: Schema, new: Any, old: Any, path: str) -> list[Problem]:
    if new is None and schema.get("nullable"):
        return []
    problems = [Problem(path, complaint) for complaint in complaints(schema, new)] or _hinted(
        schema, new, path
    )
    problems += _inside(schema, new, old, path)
    return [*problems, *_broken(schema.get(RULES, ()), new, old, path, problems)]


def _inside(schema: Schema, new: Any, old: Any, path: str) -> Iterator[Problem]:
    if isinstance(new, dict):
        yield from _fields(schema, new, old if isinstance(old, dict) else {}, path)
    elif isinstance(new, list) and "items" in schema:
        keys = schema.get("x-kubernetes-list-map-keys", ())
        before = {_identity(item, keys): item for item in old if keys} if isinstance(old, list) else {}
        for index, item in enumerate(new):
            yield from _check(schema["items"], item, before.get(_identity(item, keys)), f"{path}[{index}]")


def _identity(item: Any, keys: Iterable[str]) -> tuple[str, ...]:
    return tuple(str(item.get(key)) for key in keys) if isinstance(item, dict) else ()


def _fields(schema: Schema, new: Manifest, old: Manifest, path: str) -> Iterator[Problem]:
    properties, rest = schema.get("properties", {}), schema.get("additionalProperties")
    for name in schema.get("required", ()):
        if name not in new:
            yield Problem(_join(path, name), "is required")
    for name, value in new.items():
        if name in properties:
            yield from _check(properties[name], value, old.get(name), _join(path, name))
        elif rest is not None:
            yield from _check(rest, value, old.get(name), f"{path}[{name}]")
        elif properties and not schema.get(PRESERVE):
            yield Problem(_join(path, name), _unknown(name, properties), warning=True)


def _unknown(name: str, properties: Iterable[str]) -> str:
    near = difflib.get_close_matches(name, properties, n=1)
    return "is not a known field and will be dropped" + (f"; did you mean {near[0]}?" if near else "")


def _hinted(schema: Schema, new: Any, path: str) -> list[Problem]:
    hint = schema.get(HINT)
    if hint is None:
        return []
    # Such an object is laid over a generated one, so it need not be complete.
    part = {**core.definition(hint.name), "required": []}
    read_as = {"type": "array", "items": part} if hint.many else part
    return _check(read_as, with_defaults(read_as, new), None, path)


def _broken(rules: Iterable[Rule], new: Any, old: Any, path: str, known: list[Problem]) -> Iterator[Problem]:
    faulty = any(not problem.warning for problem in known)
    for rule in rules:
        if (rule.compares and old is None) or (rule.only_on_create and old is not None):
            continue
        try:
            holds = rule.holds(new, old) if rule.compares else rule.holds(new)
        except (AttributeError, KeyError, TypeError, ValueError):
            # It stumbled over a fault that is reported already, or over an old object from before the schema.
            if not faulty and not rule.compares:
                raise
            continue
        if not holds:
            yield Problem(f"{path}{rule.path}".lstrip("."), rule.message, rule.warning)


def _join(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name
