"""What every custom resource is: a frozen model with a place in the API.

A kind is declared once; its CRD, its validation and the object we read all come from that declaration:

    class TokenSpec(Model, markers=(Rule("has(self.jwtKeyRef) || ...", "...", holds=...),)):
        \"\"\"What a Token asks for.\"\"\"

        username: str
        \"\"\"Slurm user the token speaks for.\"\"\"
        refresh: bool = True
        \"\"\"Whether the token is renewed before it expires.\"\"\"
        lifetime: GoDuration = absent("15m")
        \"\"\"How long a token is good for.\"\"\"

    class Token(
        CustomResource,
        group="slinky.slurm.net",
        version="v1beta1",
        plural="tokens",
        short_names=("jwt",),
        columns=(Column("User", "string", ".spec.username"), AGE),
    ):
        \"\"\"A JSON web token for a Slurm user.\"\"\"

        spec: TokenSpec
        status: TokenStatus | None = None

Attributes are snake_case and read camelCase fields (`Field(alias="externalDB")` where that is not enough).
Docstrings become the descriptions that `kubectl explain` shows. Unknown fields are ignored, a null reads as
an absent field (the API server does the same), and a text is never taken for a number.
"""

from dataclasses import dataclass
from functools import reduce
from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict, GetJsonSchemaHandler, model_validator
from pydantic.alias_generators import to_camel

from slurmery.api.fields import Int64, Items, Manifest, Marker, Schema, StringMap, Time, absent


class Model(BaseModel):
    """An object inside a custom resource."""

    model_config = ConfigDict(
        alias_generator=to_camel,
        extra="ignore",
        frozen=True,
        strict=True,
        use_attribute_docstrings=True,
        validate_by_alias=True,
        validate_by_name=True,
    )
    markers: ClassVar[tuple[Marker, ...]] = ()

    def __init_subclass__(cls, markers: tuple[Marker, ...] = (), **config: Any) -> None:
        super().__init_subclass__(**config)
        cls.markers += markers

    @model_validator(mode="before")
    @classmethod
    def _null_is_absent(cls, given: Any) -> Any:
        if not isinstance(given, dict):
            return given
        return {name: value for name, value in given.items() if value is not None}

    @classmethod
    def __get_pydantic_json_schema__(cls, source: Any, handler: GetJsonSchemaHandler) -> Schema:
        own = handler.resolve_ref_schema(handler(source))
        marked = reduce(lambda schema, marker: marker.mark(schema), cls.markers, {**own})
        # In place, because other models refer to this one.
        own.clear()
        own.update(marked)
        return own


class Inlining(Model, extra="allow"):
    """A model with the fields of a Kubernetes type beside its own; mark it with `Inline`."""

    @property
    def inlined(self) -> Manifest:
        """The fields that are not the model's own, as they were written."""
        return dict(self.model_extra or {})


class Metadata(Model):
    """The part of an object's metadata that decisions are made on."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    generation: Int64 = 0
    resource_version: str = ""
    labels: StringMap = absent({})
    annotations: StringMap = absent({})
    finalizers: Items[str] = ()
    creation_timestamp: Time | None = None
    deletion_timestamp: Time | None = None


@dataclass(frozen=True)
class Column:
    """A column of `kubectl get`; those with a priority above 0 need `-o wide`."""

    name: str
    type: str
    path: str
    priority: int = 0

    def rendered(self) -> Manifest:
        """As the CRD spells it."""
        column: Manifest = {"name": self.name, "type": self.type, "jsonPath": self.path}
        return column | ({"priority": self.priority} if self.priority else {})


AGE = Column("Age", "date", ".metadata.creationTimestamp")


@dataclass(frozen=True)
class Scale:
    """The paths behind `kubectl scale` and autoscalers."""

    spec: str = ".spec.replicas"
    status: str = ".status.replicas"
    selector: str = ".status.selector"

    def rendered(self) -> Manifest:
        """As the CRD spells it."""
        return {
            "specReplicasPath": self.spec,
            "statusReplicasPath": self.status,
            "labelSelectorPath": self.selector,
        }


@dataclass(frozen=True)
class Place:
    """Where a kind lives in the API and how kubectl shows it."""

    group: str
    version: str
    kind: str
    plural: str
    short_names: tuple[str, ...] = ()
    columns: tuple[Column, ...] = ()
    scale: Scale | None = None
    status: bool = True

    @property
    def api_version(self) -> str:
        """The `apiVersion` of its objects."""
        return f"{self.group}/{self.version}"


class CustomResource(Model):
    """A kind of ours; `place` says where it lives."""

    place: ClassVar[Place]
    api_version: str = ""
    kind: str = ""
    metadata: Metadata = absent(Metadata())

    def __init_subclass__(cls, markers: tuple[Marker, ...] = (), **place: Any) -> None:
        super().__init_subclass__(markers=markers)
        cls.place = Place(kind=cls.__name__, **place)
