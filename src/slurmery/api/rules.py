"""Rules that no single field can state: CEL for the API server, the same in Python for everyone else.

    Rule("self.external || has(self.slurmKeyRef)", "slurmKeyRef is needed unless external",
         holds=lambda spec: spec["external"] or "slurmKeyRef" in spec)

`holds` sees plain JSON with the schema's defaults filled in, as `self` does in CEL, so the two can be read
side by side; a test runs both on the same objects. A rule that CEL cannot say (it needs the namespace, or
looks into a free-form field) has "" for its CEL: it acts in `slurmery validate` and in the webhook only.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from slurmery.api.fields import Marker, Schema

RULES = "x-kubernetes-validations"


@dataclass(frozen=True)
class Rule(Marker):
    """What must hold of a value; `path`, e.g. `.port`, is the field inside it to blame."""

    cel: str
    message: str
    holds: Callable[..., bool]
    path: str = ""
    only_on_create: bool = False
    warning: bool = False
    compares: ClassVar[bool] = False

    def mark(self, schema: Schema) -> Schema:
        return {**schema, RULES: [*schema.get(RULES, ()), self]}

    def rendered(self) -> Schema:
        """As the API server reads it."""
        return {"rule": self.cel, "message": self.message} | ({"fieldPath": self.path} if self.path else {})


@dataclass(frozen=True)
class Change(Rule):
    """What must hold of an update: `holds` gets the new value and the old one, CEL `self` and `oldSelf`."""

    compares: ClassVar[bool] = True


def Immutable(message: str = "cannot be changed") -> Change:  # noqa: N802
    """A field that keeps the value it was given first."""
    return Change("self == oldSelf", message, holds=lambda new, old: bool(new == old))
