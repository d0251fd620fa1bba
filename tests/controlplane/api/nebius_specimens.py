"""Objects of slurm.nebius.ai to try on an API server, and what it says to them."""

import json
import re
from copy import deepcopy
from itertools import count
from pathlib import Path
from typing import Any

import yaml

from dev.controlplane import ControlPlane
from slurmery.api import nebius
from slurmery.api.crd import crd
from slurmery.api.validation import validate

DATA = Path(__file__).parents[2] / "data" / "nebius"
Manifest = dict[str, Any]
numbers = count()


def manifests(version: str) -> list[Manifest]:
    return list(yaml.safe_load_all((DATA / f"soperator-{version}.yaml").read_text()))


_OLD = {manifest["kind"]: manifest for manifest in reversed(manifests("1.22"))}
_NEW = {manifest["kind"]: manifest for manifest in manifests("5.0")}
CLUSTER, NEW_CLUSTER = _OLD["SlurmCluster"], _NEW["SlurmCluster"]
CONFIGURATOR, NEW_CONFIGURATOR = _OLD["NodeConfigurator"], _NEW["NodeConfigurator"]
NODESET, POWER = _NEW["NodeSet"], _NEW["NodeSetPowerState"]
CHECK, CONFIG = _OLD["ActiveCheck"], _OLD["JailedConfig"]


def install(plane: ControlPlane, namespace: str) -> None:
    """The six kinds and a namespace to try them in."""
    crds = [crd(kind) for kind in nebius.KINDS]
    plane.kubectl("apply", "--server-side", "-f", "-", stdin=together(crds))
    names = [f"crd/{item['metadata']['name']}" for item in crds]
    plane.kubectl("wait", "--for=condition=Established", "--timeout=30s", *names)
    plane.kubectl("create", "namespace", namespace)


def together(objects: list[Manifest]) -> str:
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": objects})


def changed(manifest: Manifest, **changes: Any) -> Manifest:
    """A copy under a new name, with parts of its spec replaced; None takes a part away."""
    spec = deepcopy(manifest["spec"])
    for path, value in changes.items():
        *parents, last = path.split("__")
        part = spec
        for step in parents:
            part = part[int(step) if step.isdigit() else step]
        if value is None:
            del part[last]
        else:
            part[last] = value
    return {**manifest, "metadata": {"name": f"{manifest['kind'].lower()}-{next(numbers)}"}, "spec": spec}


def refusals(plane: ControlPlane, namespace: str, objects: list[Manifest]) -> dict[str, str]:
    """What the API server says against each object it does not take, by name. Nothing is created."""
    arguments = ("create", "-n", namespace, "--dry-run=server", "--validate=ignore", "-f", "-")
    try:
        plane.kubectl(*arguments, stdin=together(objects))
    except AssertionError as error:
        refused = dict(re.findall(r'"(\S+)" is invalid: (.*(?:\n\*.*)*)', str(error)))
        if refused:
            return refused
        raise
    return {}


def errors(given: Manifest, old: Manifest | None = None) -> str:
    return "\n".join(str(problem) for problem in validate(given, old) if not problem.warning)
