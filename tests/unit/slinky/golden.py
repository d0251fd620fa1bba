"""Manifests as files that people read. `SLURMERY_GOLDEN=write pytest ...` writes them anew, for review."""

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import kubernetes_validate
import yaml

from slurmery.kube.meta import Manifest

DIRECTORY = Path(__file__).parents[2] / "golden" / "slinky"
KUBERNETES = "1.37"
CUSTOM = frozenset(
    {"ServiceMonitor", "PodMonitor", "MariaDB", "Grant", "Database", "AppArmorProfile"}
    | {"JailedConfig", "NodeSetPowerState"}
)


def check(name: str, manifests: Iterable[Manifest], directory: Path = DIRECTORY) -> None:
    """The manifests are what the file says, and what the API server accepts."""
    plain: list[dict[str, Any]] = json.loads(json.dumps(list(manifests)))
    for manifest in plain:
        valid(manifest)
    path = directory / f"{name}.yaml"
    if os.environ.get("SLURMERY_GOLDEN") == "write":
        path.write_text(yaml.dump_all(plain, Dumper=_Dumper, width=110))
    assert plain == list(yaml.safe_load_all(path.read_text()))


def valid(manifest: Manifest) -> None:
    """Kubernetes' own schema knows every field; of custom resources it has none."""
    if manifest["kind"] not in CUSTOM:
        kubernetes_validate.validate(dict(manifest), KUBERNETES, strict=True)


class _Dumper(yaml.SafeDumper):
    """With texts of several lines as blocks."""


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)


_Dumper.add_representer(str, _text)
