"""What can be wrong with any workload: keys that do not exist, no image, parts that cannot be built."""

from collections.abc import Callable
from typing import TypeVar

from slurmery.api.slinky.shared import SecretKeyRef
from slurmery.doors.conditions import Problem
from slurmery.doors.merge import MergeError
from slurmery.kube.meta import Manifest
from slurmery.slurmconf.text import TextError

T = TypeVar("T")


def missing_key(field: str, ref: SecretKeyRef | None, found: object) -> list[Problem]:
    """The Secret key that a field of the spec names, if nothing was found there and it must exist."""
    if ref is None:
        return [Problem("KeyNotGiven", f"{field} is required.")]
    if found is not None or ref.optional:
        return []
    message = f"Secret {ref.name} with key {ref.key}, named by {field}, does not exist."
    return [Problem("SecretNotFound", message)]


def imageless(workload: Manifest) -> list[Problem]:
    """Containers that nobody gave an image."""
    pod = workload["spec"]["template"]["spec"]
    containers = [*pod.get("initContainers", ()), *pod["containers"]]
    return [
        Problem("ImageMissing", f"The container {container['name']} has no image: the spec must give one.")
        for container in containers
        if not container.get("image")
    ]


def attempt(problems: list[Problem], build: Callable[[], T]) -> T | None:
    """What `build` makes; None, and one problem more, if the user's values do not allow it."""
    try:
        return build()
    except MergeError as error:
        problems.append(Problem("InvalidSpec", f"{error}."))
    except TextError as error:
        problems.append(Problem("InvalidValue", f"{error}."))
    return None
