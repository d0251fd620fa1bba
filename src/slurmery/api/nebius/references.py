"""What the parts of a SlurmCluster say about each other: the node filters and volume sources they name exist.

Components that are switched off are let alone, and so is the exporter, which runs anywhere if its filter is
missing.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from slurmery.api.fields import Manifest
from slurmery.api.rules import Rule


class _Component(NamedTuple):
    """A part that names a node filter, and when it matters: in CEL, with {0} for the part, and in Python."""

    path: str
    matters: str = "true"
    counts: Callable[[Manifest, Manifest], bool] = lambda _spec, _part: True


def _enabled(path: str) -> _Component:
    return _Component(path, "{0}.enabled", lambda _spec, part: bool(part["enabled"]))


def _sized(path: str) -> _Component:
    return _Component(path, "has({0}.size) && {0}.size > 0", lambda _spec, part: part.get("size", 0) > 0)


_COMPONENTS = (
    _Component(
        "populateJail",
        "self.maintenance != 'skipPopulateJail'",
        lambda spec, _part: spec["maintenance"] != "skipPopulateJail",
    ),
    _Component("slurmNodes.controller"),
    _sized("slurmNodes.worker"),
    _sized("slurmNodes.login"),
    _enabled("slurmNodes.accounting"),
    _enabled("slurmNodes.rest"),
    _Component("sConfigController.node"),
)
_VOLUMES = (
    "populateJail.jailSnapshotVolume",
    "slurmNodes.controller.volumes.spool",
    "slurmNodes.controller.volumes.jail",
    "slurmNodes.worker.volumes.spool",
    "slurmNodes.worker.volumes.jail",
    "slurmNodes.login.volumes.jail",
)
_MOUNTS = (
    "slurmNodes.controller.volumes.customMounts",
    "slurmNodes.worker.volumes.jailSubMounts",
    "slurmNodes.worker.volumes.customMounts",
    "slurmNodes.login.volumes.jailSubMounts",
    "slurmNodes.login.volumes.customMounts",
)


def references() -> tuple[Rule, ...]:
    """The rules for the spec of a SlurmCluster."""
    return (
        *(_filter_exists(component) for component in _COMPONENTS),
        *(_source_exists(path) for path in _VOLUMES),
        *(_sources_exist(path) for path in _MOUNTS),
    )


def _filter_exists(component: _Component) -> Rule:
    def holds(spec: Manifest) -> bool:
        part = _at(spec, component.path)
        if part is None or not component.counts(spec, part):
            return True
        return part["k8sNodeFilterName"] in _names(spec, "k8sNodeFilters")

    part = f"self.{component.path}"
    return Rule(
        f"{_absent(component.path)} || !({component.matters.format(part)})"
        f" || self.k8sNodeFilters.exists(filter, filter.name == {part}.k8sNodeFilterName)",
        "is not the name of one of k8sNodeFilters",
        holds=holds,
        path=f".{component.path}.k8sNodeFilterName",
    )


def _source_exists(path: str) -> Rule:
    return Rule(
        f"{_absent(path)} || {_source_known(f'self.{path}')}",
        "is not the name of one of volumeSources",
        holds=lambda spec: _are_known([_at(spec, path)], spec),
        path=f".{path}.volumeSourceName",
    )


def _sources_exist(path: str) -> Rule:
    return Rule(
        f"{_absent(path)} || self.{path}.all(mount, {_source_known('mount')})",
        "every volumeSourceName must be the name of one of volumeSources",
        holds=lambda spec: _are_known(_at(spec, path) or [], spec),
        path=f".{path}",
    )


def _source_known(volume: str) -> str:
    name = f"{volume}.volumeSourceName"
    known = f"(has(self.volumeSources) && self.volumeSources.exists(source, source.name == {name}))"
    return f"(!has({name}) || {name} == '' || {known})"


def _are_known(volumes: list[Manifest | None], spec: Manifest) -> bool:
    wanted = {volume["volumeSourceName"] for volume in volumes if volume and volume.get("volumeSourceName")}
    return wanted <= _names(spec, "volumeSources")


def _names(spec: Manifest, field: str) -> set[str]:
    return {entry["name"] for entry in spec.get(field, ())}


def _absent(path: str) -> str:
    """CEL that is true when the path ends before its end."""
    steps = path.split(".")
    return " || ".join(f"!has(self.{'.'.join(steps[:depth])})" for depth in range(1, len(steps) + 1))


def _at(spec: Manifest, path: str) -> Any:
    part: Any = spec
    for step in path.split("."):
        part = None if part is None else part.get(step)
    return part
