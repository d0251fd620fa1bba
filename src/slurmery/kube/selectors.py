"""Label selectors: read from text or from a LabelSelector, sent to the server or matched right here.

A selector that cannot be understood is an error; it never means "everything".
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, cast

from slurmery.kube.errors import SelectorError

Operator = Literal["In", "NotIn", "Exists", "DoesNotExist"]

_NAME = r"[A-Za-z0-9](?:[-A-Za-z0-9_./]*[A-Za-z0-9])?"
_TERMS = re.compile(
    rf"""\s* (?:
        (?P<absent>!)? \s* (?P<bare>{_NAME})
      | (?P<key>{_NAME}) \s* (?P<sign>==|=|!=) \s* (?P<value>(?:{_NAME})?)
      | (?P<set>{_NAME}) \s+ (?P<word>in|notin) \s* \( (?P<values>[^()]*) \)
    ) \s* (?:,(?=.)|$)""",
    re.VERBOSE,
)


@dataclass(frozen=True)
class Requirement:
    """What one label must be like."""

    key: str
    operator: Operator
    values: tuple[str, ...] = ()

    def matches(self, labels: Mapping[str, str]) -> bool:
        match self.operator:
            case "In":
                return labels.get(self.key) in self.values
            case "NotIn":
                return labels.get(self.key) not in self.values
            case "Exists":
                return self.key in labels
            case "DoesNotExist":
                return self.key not in labels

    def __str__(self) -> str:
        match self.operator:
            case "In" | "NotIn":
                if len(self.values) == 1:
                    return f"{self.key}{'=' if self.operator == 'In' else '!='}{self.values[0]}"
                return f"{self.key} {self.operator.lower()} ({','.join(self.values)})"
            case "Exists":
                return self.key
            case "DoesNotExist":
                return f"!{self.key}"


@dataclass(frozen=True)
class LabelSelector:
    """Requirements that must all hold, and none match everything. Its `str` is what the server takes."""

    requirements: tuple[Requirement, ...] = ()

    def matches(self, labels: Mapping[str, str]) -> bool:
        return all(requirement.matches(labels) for requirement in self.requirements)

    def __str__(self) -> str:
        return ",".join(map(str, self.requirements))


def equal(labels: Mapping[str, str]) -> LabelSelector:
    """Objects that carry all of these labels."""
    return LabelSelector(tuple(Requirement(key, "In", (value,)) for key, value in sorted(labels.items())))


def from_manifest(selector: Mapping[str, Any]) -> LabelSelector:
    """The meaning of a LabelSelector object: `matchLabels` and `matchExpressions`."""
    return LabelSelector(
        equal(selector.get("matchLabels") or {}).requirements
        + tuple(map(_expression, selector.get("matchExpressions") or ()))
    )


def parse(text: str) -> LabelSelector:
    """The meaning of `a=b,c!=d,e in (f,g),h,!i`."""
    requirements: list[Requirement] = []
    position = 0
    while position < len(text):
        term = _TERMS.match(text, position)
        if term is None:
            raise SelectorError(f"label selector {text!r} cannot be understood from {text[position:]!r} on")
        requirements.append(_requirement(term))
        position = term.end()
    return LabelSelector(tuple(requirements))


def _requirement(term: re.Match[str]) -> Requirement:
    found = term.groupdict()
    if found["bare"]:
        return Requirement(found["bare"], "DoesNotExist" if found["absent"] else "Exists")
    if found["key"]:
        return Requirement(found["key"], "NotIn" if found["sign"] == "!=" else "In", (found["value"],))
    values = tuple(sorted({value.strip() for value in found["values"].split(",")}))
    return Requirement(found["set"], "In" if found["word"] == "in" else "NotIn", values)


def _expression(expression: Mapping[str, Any]) -> Requirement:
    operator, values = expression.get("operator"), tuple(expression.get("values") or ())
    if operator not in ("In", "NotIn", "Exists", "DoesNotExist"):
        raise SelectorError(f"label selector operator {operator!r} is unknown")
    if (operator in ("In", "NotIn")) != bool(values):
        raise SelectorError(f"label selector operator {operator} has {'values' if values else 'no values'}")
    return Requirement(expression["key"], cast("Operator", operator), values)
