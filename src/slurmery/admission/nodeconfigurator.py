"""Defaults of a NodeConfigurator that a schema cannot state: they depend on which half is switched on.

They show in the object what will run; a container that is switched off stays as it was written.
"""

from collections.abc import Iterator
from typing import Any

from slurmery.admission.lookups import Answers, Want
from slurmery.admission.review import ALLOWED, Operation, Request, Verdict

_IMAGE = {"repository": "busybox", "tag": "latest"}
_REBOOTER = {"name": "rebooter", "logFormat": "json"}
_CUSTOM = {
    "customContainer": {"name": "custom-container", "image": _IMAGE},
    "nodeConfigurator": {"name": "node-sysctl-sleep", "image": _IMAGE},
}


def wants(_: Request) -> list[Want]:
    return []


def judge(request: Request, _: Answers) -> Verdict:
    if request.operation not in {"CREATE", "UPDATE"} or request.object is None:
        return ALLOWED
    spec = request.object.get("spec")
    if spec is None:
        # The API server fills an empty spec from the schema's defaults.
        rebooter = {"enabled": True, **_REBOOTER}
        return Verdict(patch=(Operation(("spec",), {"rebooter": rebooter}),))
    if not isinstance(spec, dict):
        return ALLOWED  # the schema will refuse it
    # The old name of the custom container is ignored where the new one is given.
    custom = next((name for name in _CUSTOM if name in spec), "customContainer")
    return Verdict(patch=(*_filled(spec, "rebooter", _REBOOTER), *_filled(spec, custom, _CUSTOM[custom])))


def _filled(spec: dict[str, Any], part: str, defaults: dict[str, Any]) -> Iterator[Operation]:
    given = spec.get(part)
    if isinstance(given, dict) and given.get("enabled") is True:
        for name, value in defaults.items():
            if not given.get(name):
                yield Operation(("spec", part, name), value)
