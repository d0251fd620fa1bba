"""The vocabulary in which the fields of custom resources are declared.

Types: `Int32`, `Int64`, `Time`, `IntOrString`, `Quantity`, `GoDuration`, `PromDuration`, `Items[T]` (a list,
to us a tuple), `StringMap`; those of Kubernetes are `Annotated[Manifest, Core("io.k8s.api.core.v1.Probe")]`.

Markers go into `Annotated[...]` or, for a whole model, into `class X(Model, markers=(...,))`:

    Core(name)            full schema of a Kubernetes type, a plain dict for us
    Inline(name)          on an `Inlining` model: the fields of a Kubernetes type beside our own
    Free(name)            any JSON object to the API server; `validate` compares it with the named type
    Atomic()              a list or object that server-side apply replaces as a whole
    ListMap(key), ListSet()
    Sentence(text)        what people are told when their text does not match the pattern
    Nullable()            an explicit null is kept in the object; the model reads it as absent
    Rule(...), Change(...), Immutable()
                          what must hold, see `rules.py`

Limits are pydantic's: `Annotated[Int32, Field(ge=1)]`, `Annotated[str, Field(max_length=40, pattern=...)]`,
`Literal["a", "b"]`. A default is declared once:

    port: Int32 = 3306                      in the schema and in the model
    extra_conf: str = absent("")            not in the schema; the model reads an absent field as ""
    ha: HighAvailability | None = None      not in the schema; the model reads an absent field as None
"""

from abc import ABC, abstractmethod
from copy import copy
from dataclasses import dataclass
from typing import Annotated, Any, TypeAlias, TypeVar

from pydantic import AwareDatetime, BeforeValidator, Field, GetJsonSchemaHandler, Strict

from slurmery.api import core

Manifest: TypeAlias = dict[str, Any]
Schema: TypeAlias = dict[str, Any]
T = TypeVar("T")

# Words of our own stay in the process: `validation` reads them, rendering drops them.
OURS = "x-slurmery-"
HINT = OURS + "hint"
SENTENCE = OURS + "sentence"
PRESERVE = "x-kubernetes-preserve-unknown-fields"


def absent(value: Any) -> Any:
    """What the model reads when a field that has no default in the schema is not given."""
    return Field(default_factory=lambda: copy(value))


class Marker(ABC):
    """Says more about the schema of what it annotates."""

    @abstractmethod
    def mark(self, schema: Schema) -> Schema:
        """The schema to use instead."""

    def __get_pydantic_json_schema__(self, source: Any, handler: GetJsonSchemaHandler) -> Schema:
        return self.mark(handler(source))


@dataclass(frozen=True)
class Core(Marker):
    """A Kubernetes type by its OpenAPI name."""

    name: str

    def mark(self, schema: Schema) -> Schema:  # noqa: ARG002
        return core.definition(self.name)


@dataclass(frozen=True)
class Inline(Marker):
    """The fields of a Kubernetes type, beside those of the model."""

    name: str

    def mark(self, schema: Schema) -> Schema:
        theirs = core.definition(self.name)
        ours = {word: value for word, value in schema.items() if word != "additionalProperties"}
        required = [*ours.get("required", ()), *theirs.get("required", ())]
        properties = {**ours.get("properties", {}), **theirs["properties"]}
        return {**ours, "properties": properties} | ({"required": required} if required else {})


@dataclass(frozen=True)
class Free(Marker):
    """Any JSON object that we shall read as the named Kubernetes type; with `many`, anything, as a list."""

    name: str
    many: bool = False

    def mark(self, schema: Schema) -> Schema:  # noqa: ARG002
        return ({"nullable": True} if self.many else {"type": "object"}) | {PRESERVE: True, HINT: self}


@dataclass(frozen=True)
class Atomic(Marker):
    """Replaced as a whole by server-side apply."""

    def mark(self, schema: Schema) -> Schema:
        kind = "list" if schema.get("type") == "array" else "map"
        return {**schema, f"x-kubernetes-{kind}-type": "atomic"}


@dataclass(frozen=True)
class ListMap(Marker):
    """A list whose items are told apart by a key field."""

    key: str

    def mark(self, schema: Schema) -> Schema:
        return {**schema, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": [self.key]}


@dataclass(frozen=True)
class ListSet(Marker):
    """A list of distinct scalars."""

    def mark(self, schema: Schema) -> Schema:
        return {**schema, "x-kubernetes-list-type": "set"}


@dataclass(frozen=True)
class Nullable(Marker):
    """An explicit null is accepted and kept."""

    def mark(self, schema: Schema) -> Schema:
        return {**schema, "nullable": True}


@dataclass(frozen=True)
class Format(Marker):
    """The OpenAPI format of a scalar."""

    name: str

    def mark(self, schema: Schema) -> Schema:
        return {**schema, "format": self.name}


@dataclass(frozen=True)
class Sentence(Marker):
    """What to tell people instead of a pattern that their text does not match."""

    text: str

    def mark(self, schema: Schema) -> Schema:
        return {**schema, SENTENCE: self.text}


def _whole_number_or_text(value: object) -> object:
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise ValueError("must be a whole number or a text")
    return value


Int32 = Annotated[int, Format("int32")]
Int64 = Annotated[int, Format("int64")]
Time = Annotated[AwareDatetime, Strict(False)]
_NumberOrText = Annotated[int | str, BeforeValidator(_whole_number_or_text)]
IntOrString = Annotated[_NumberOrText, Core("io.k8s.apimachinery.pkg.util.intstr.IntOrString")]
Quantity = Annotated[_NumberOrText, Core("io.k8s.apimachinery.pkg.api.resource.Quantity")]
GoDuration = Annotated[
    str,
    Field(pattern=r"^(0|[+-]?([0-9]+(\.[0-9]*)?(ns|us|µs|ms|s|m|h))+)$"),
    Sentence("must be a duration such as 30s, 15m or 1h30m"),
]
_PROM_UNITS = "".join(f"(([0-9]+){unit})?" for unit in ("y", "w", "d", "h", "m", "s", "ms"))
PromDuration = Annotated[
    str,
    Field(pattern=f"^(0|{_PROM_UNITS})$"),
    Sentence("must be a duration such as 30s, 15m or 1d"),
]
Items = Annotated[tuple[T, ...], Strict(False)]
StringMap = dict[str, str]
