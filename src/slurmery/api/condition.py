"""Conditions as Kubernetes itself writes them."""

from typing import Annotated, Literal

from pydantic import Field

from slurmery.api.fields import Int64, Items, ListMap, Time, absent
from slurmery.api.resource import Model

_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_QUALIFIED_NAME = rf"^({_LABEL}(\.{_LABEL})*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$"
_REASON = "^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$"


class Condition(Model):
    """One thing that is true, false or unknown about the object."""

    type: Annotated[str, Field(max_length=316, pattern=_QUALIFIED_NAME)]
    """What it is about."""
    status: Literal["True", "False", "Unknown"]
    """Whether it holds."""
    reason: Annotated[str, Field(min_length=1, max_length=1024, pattern=_REASON)]
    """Why, in one word for programs."""
    message: Annotated[str, Field(max_length=32768)]
    """Why, in a sentence for people."""
    last_transition_time: Time
    """When the status last changed."""
    observed_generation: Annotated[Int64, Field(ge=0)] = absent(0)
    """Generation of the object that this was said about."""


Conditions = Annotated[Items[Condition], ListMap("type")]
