"""Write the files that follow from the code: the CRD chart, schemas of values, and the reference pages.

`python -m scripts.generate` rewrites them; a unit test fails while they are stale.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from scripts.values import SCHEMAS, written
from slurmery.api.crd import crd
from slurmery.api.kinds import registry
from slurmery.api.resource import CustomResource
from slurmery.cli.app import TOOLS, app
from slurmery.cli.programs import PROGRAMS
from slurmery.cli.tools.crds import document
from slurmery.cli.usage import reference

ROOT = Path(__file__).parent.parent
CHART = ROOT / "charts/slurmery-crds/templates"
REFERENCE = ROOT / "docs/reference"
PASSIVE = ROOT / "src/slurmery/onnode/passive/checks.json"

# Helm's name for each group, and what keeps `helm uninstall` from deleting every cluster there is.
GROUPS = {"slurm.nebius.ai": "nebius", "slinky.slurm.net": "slinky"}
KEEP = "metadata:\n  annotations:\n    helm.sh/resource-policy: keep\n"
THEIRS = "A Kubernetes "
HEADER = "<!-- Written by scripts/generate.py from the code: change it there. -->"


def template(kind: type[CustomResource]) -> str:
    """The chart's template of one definition."""
    text = document([kind]).removeprefix("---\n")
    if "{{" in text:
        raise ValueError(f"Helm would read the braces in the definition of {kind.place.kind}")
    body = text.replace("metadata:\n", KEEP, 1)
    return f"{{{{- if .Values.groups.{GROUPS[kind.place.group]} }}}}\n{body}{{{{- end }}}}\n"


def commands_page() -> str:
    """docs/reference/cli.md"""
    tools = (
        app[name].generate_docs(heading_level=2, usage_name=f"slurmery {name}").strip() for name in TOOLS
    )
    return "\n\n".join((HEADER, "# Command line", *tools, *(reference(one) for one in PROGRAMS))) + "\n"


def kinds_page() -> str:
    """docs/reference/crds.md"""
    return "\n\n".join((HEADER, "# Custom resources", *(_chapter(kind) for kind in registry()))) + "\n"


def _chapter(kind: type[CustomResource]) -> str:
    place = kind.place
    schema = crd(kind)["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    short = f" Short: {', '.join(f'`{name}`' for name in place.short_names)}." if place.short_names else ""
    rows = "\n".join(_rows(schema, ""))
    head = "| field | type | default | meaning |\n|---|---|---|---|"
    return f"## {place.kind} ({place.api_version})\n\n{schema['description']}{short}\n\n{head}\n{rows}"


def _rows(schema: dict[str, Any], path: str) -> Iterator[str]:
    """Our own fields; what lies inside of Kubernetes' types is told by its own pages."""
    needed = schema.get("required", ())
    for name, field in schema.get("properties", {}).items():
        if field.get("description", THEIRS).startswith(THEIRS) or name in {"apiVersion", "kind"}:
            continue
        here = f"{path}{name}"
        default = "required" if name in needed else _default(field)
        yield _row(f"`{here}`", _type(field), default, field["description"])
        yield from _rows(field, f"{here}.")
        for word, mark in (("items", "[]"), ("additionalProperties", "[*]")):
            if isinstance(field.get(word), dict):
                yield from _rows(field[word], f"{here}{mark}.")


def _type(field: dict[str, Any]) -> str:
    if "enum" in field:
        return " ".join(f"`{choice}`" for choice in field["enum"])
    if "items" in field:
        return f"list of {_type(field['items'])}"
    if field.get("x-kubernetes-int-or-string"):
        return "number or string"
    return str(field.get("type", "any"))


def _default(field: dict[str, Any]) -> str:
    default = field.get("default")
    return (
        ""
        if default is None or isinstance(default, dict | list)
        else f"`{json.dumps(default) if isinstance(default, bool) else default}`"
    )


def _row(*cells: str) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"


def generated() -> dict[Path, str]:
    """Every generated file with its text."""
    charts = {CHART / f"{one.place.plural}.{one.place.group}.yaml": template(one) for one in registry()}
    values = {
        ROOT / "charts" / name / "values.schema.json": written(schema()) for name, schema in SCHEMAS.items()
    }
    # A chart cannot reach beyond its folder.
    values[ROOT / "charts/slurm-cluster/checks.json"] = PASSIVE.read_text(encoding="utf-8")
    return charts | values | {REFERENCE / "cli.md": commands_page(), REFERENCE / "crds.md": kinds_page()}


def main() -> None:
    """Write them all."""
    for path, text in generated().items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
