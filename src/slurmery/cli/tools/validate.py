"""`slurmery validate`: everything that is wrong with manifests, at once and without a cluster."""

import difflib
import sys
from typing import Annotated, Any

from cyclopts import Parameter

from slurmery.api import validation
from slurmery.api.kinds import find, registry
from slurmery.api.validation import Problem
from slurmery.cli.documents import Document, DocumentError, documents

_FILE = Parameter(name=("--file", "-f"), negative="", allow_leading_hyphen=True)


def validate(*files: str, file: Annotated[tuple[str, ...], _FILE] = ()) -> int:
    """Tell everything that is wrong with manifests, without a cluster.

    Parameters
    ----------
    files: tuple[str, ...]
        Files of YAML or JSON, with any number of manifests each.
    file: tuple[str, ...]
        The same, as kubectl takes it; - is standard input.
    """
    if not (file or files):
        print("slurmery validate: name the files to check: -f FILE", file=sys.stderr)
        return 2
    tally = _Tally()
    for name in (*file, *files):
        try:
            for document in documents(name):
                tally.check(document)
        except DocumentError as error:
            tally.tell(str(error), warning=False)
    print(tally)
    return 1 if tally.errors or not tally.checked else 0


class _Tally:
    """What was found so far."""

    def __init__(self) -> None:
        self.checked = self.others = self.errors = self.warnings = 0

    def check(self, document: Document) -> None:
        problems = _problems(document.manifest)
        if problems is None:
            self.others += 1
            return
        self.checked += 1
        title = f"{document.origin}, {_title(document.manifest)}"
        for problem in problems:
            self.tell(f"{title}: {problem.path}: {problem.message}", warning=problem.warning)

    def tell(self, line: str, *, warning: bool) -> None:
        self.warnings += warning
        self.errors += not warning
        print(f"{'warning' if warning else 'error'}: {line}")

    def __str__(self) -> str:
        others = f", {self.others} of other kinds left alone" if self.others else ""
        return f"{self.checked} checked{others}: {self.errors} errors, {self.warnings} warnings"


def _problems(manifest: dict[str, Any]) -> list[Problem] | None:
    """What is wrong with a manifest; None if it is not meant for us."""
    missing = [Problem(name, "is required") for name in ("apiVersion", "kind") if not manifest.get(name)]
    if missing:
        return missing
    version, kind = str(manifest["apiVersion"]), str(manifest["kind"])
    if find(version, kind):
        return validation.validate(manifest)
    versions = {one.place.api_version: one.place.group for one in registry()}
    if version.partition("/")[0] not in versions.values() and not difflib.get_close_matches(
        version, versions, cutoff=0.8
    ):
        return None
    known = ", ".join(f"{one.place.api_version} {one.place.kind}" for one in _near(kind))
    return [Problem("kind", f"there is no {version} {kind}; there is {known}")]


def _near(kind: str) -> list[Any]:
    names = difflib.get_close_matches(kind, {one.place.kind for one in registry()}, n=1)
    return [one for one in registry() if not names or one.place.kind in names]


def _title(manifest: dict[str, Any]) -> str:
    metadata = manifest.get("metadata")
    parts = metadata if isinstance(metadata, dict) else {}
    name = "/".join(str(parts[key]) for key in ("namespace", "name") if parts.get(key))
    return f"{manifest.get('kind', 'manifest')} {name}".strip()
