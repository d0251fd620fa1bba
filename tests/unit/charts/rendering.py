"""Charts, rendered by both Helms as a user would."""

import functools
import json
import subprocess
from pathlib import Path
from typing import Any

import yaml

from dev import binaries
from dev.binaries import HELM3, HELM4, Module

CHARTS = Path(__file__).parents[3] / "charts"
HELMS = (HELM3, HELM4)
NAMESPACE = "ours"

Object = dict[str, Any]


class RenderError(Exception):
    """What Helm said."""


def render(
    chart: str, values: Object | None = None, *files: str, helm: Module = HELM4, release: str = ""
) -> list[Object]:
    """The objects of a chart; `files` lie in its folder ci."""
    return [*_render(chart, json.dumps(values or {}), files, helm.folder, release or chart)]


def one(objects: list[Object], kind: str, name: str, namespace: str = "") -> Object:
    [found] = [
        each
        for each in objects
        if (each["kind"], each["metadata"]["name"]) == (kind, name)
        and namespace in {"", each["metadata"].get("namespace", "")}
    ]
    return found


def lint(chart: str, *files: str, helm: Module) -> None:
    values = [f"--values={CHARTS / chart / 'ci' / file}" for file in files]
    _run(helm, "lint", "--strict", "--quiet", str(CHARTS / chart), *values)


@functools.cache
def _render(chart: str, values: str, files: tuple[str, ...], helm: str, release: str) -> tuple[Object, ...]:
    program = next(module for module in HELMS if module.folder == helm)
    given = [f"--values={CHARTS / chart / 'ci' / file}" for file in files]
    line = ["template", release, str(CHARTS / chart), f"--namespace={NAMESPACE}", *given, "--values=-"]
    text = _run(program, *line, stdin=values)
    objects = (each for each in yaml.safe_load_all(text) if each)
    return tuple(sorted(objects, key=_place))


def _place(found: Object) -> tuple[str, str, str]:
    """The two Helms differ in the order of kinds that they do not know."""
    metadata = found["metadata"]
    return found["kind"], metadata.get("namespace", ""), metadata["name"]


def _run(helm: Module, *arguments: str, stdin: str = "") -> str:
    program = binaries.find("helm", helm)
    done = subprocess.run([program, *arguments], input=stdin, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RenderError(done.stderr + done.stdout)
    return done.stdout
