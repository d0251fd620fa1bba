"""The status that ActiveCheck and NodeConfigurator share, with conditions of an older shape than Kubernetes'
own."""

from typing import Annotated, Literal

from pydantic import Field

from slurmery.api.fields import Int64, Items, ListMap, Time, absent
from slurmery.api.resource import Model


class TimedCondition(Model):
    """One thing that is true, false or unknown about the object, and when it was last looked at."""

    type: Annotated[str, Field(max_length=316)]
    """What it is about: Available, Progressing or Degraded."""
    status: Literal["True", "False", "Unknown"]
    """Whether it holds."""
    reason: Annotated[str, Field(min_length=1, max_length=1024)]
    """Why, in one word for programs."""
    message: Annotated[str, Field(max_length=32768)] = absent("")
    """Why, in a sentence for people."""
    last_transition_time: Time
    """When the status last changed."""
    last_update_time: Time
    """When the condition was last written."""
    observed_generation: Annotated[Int64, Field(ge=0)] = absent(0)
    """Generation of the object that this was said about."""


class StatusMetadata(Model):
    """How far the object has been acted on."""

    update_status: str = absent("")
    """How the latest change went: updating, failed or succeeded."""
    reason: str = absent("")
    """Why, in a few words."""
    observed_generation: Int64 = absent(0)
    """Generation of the object that has been acted on."""
    conditions: Annotated[Items[TimedCondition], ListMap("type")] = absent(())
    """What is known about the object, by type."""
