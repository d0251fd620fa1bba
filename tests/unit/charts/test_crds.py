"""The committed CRD chart and reference pages are what the code would write today."""

from pathlib import Path

import pytest
import yaml

from scripts.generate import CHART, GROUPS, ROOT, generated
from slurmery.api.crd import crd
from slurmery.api.nebius import JailedConfig
from slurmery.api.resource import CustomResource
from slurmery.api.slinky.token import Token

FILES = generated()


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_generated_files_are_fresh(path: Path) -> None:
    assert path.read_text(encoding="utf-8") == FILES[path], "run: python -m scripts.generate"


def test_no_definition_of_yesterday_is_left() -> None:
    assert {path.name for path in CHART.glob("*.yaml")} == {
        path.name for path in FILES if path.parent == CHART
    }


@pytest.mark.parametrize("kind", [JailedConfig, Token], ids=lambda kind: kind.__name__)
def test_the_chart_keeps_its_definitions_and_changes_nothing_else(kind: type[CustomResource]) -> None:
    first, *body, last = FILES[CHART / f"{kind.place.plural}.{kind.place.group}.yaml"].splitlines()
    assert (first, last) == (f"{{{{- if .Values.groups.{GROUPS[kind.place.group]} }}}}", "{{- end }}")
    rendered = yaml.safe_load("\n".join(body))
    assert rendered["metadata"].pop("annotations") == {"helm.sh/resource-policy": "keep"}
    assert rendered == crd(kind)


def test_the_values_name_every_group() -> None:
    values = yaml.safe_load((ROOT / "charts/slurmery-crds/values.yaml").read_text())
    assert values == {"groups": dict.fromkeys(GROUPS.values(), True)}
