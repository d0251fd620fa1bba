import re

import pytest
import yaml

from slurmery.api.crd import crd
from slurmery.api.kinds import registry
from slurmery.cli.tools.crds import crds


def printed(
    capsys: pytest.CaptureFixture[str], group: str | None = None, kind: str | None = None
) -> list[str]:
    assert crds(group=group, kind=kind) == 0
    return re.findall(r"^metadata:\n  name: (\S+)$", capsys.readouterr().out, re.MULTILINE)


def test_all_definitions_are_printed_and_chosen_by_group_and_kind(capsys: pytest.CaptureFixture[str]) -> None:
    assert len(printed(capsys)) == 12
    assert len(printed(capsys, group="slinky.slurm.net")) == 6
    assert printed(capsys, kind="NodeSet") == ["nodesets.slurm.nebius.ai", "nodesets.slinky.slurm.net"]
    assert printed(capsys, "slurm.nebius.ai", "NodeSet") == ["nodesets.slurm.nebius.ai"]


def test_what_is_printed_is_the_definition(capsys: pytest.CaptureFixture[str]) -> None:
    crds(group="slinky.slurm.net", kind="Token")
    text = capsys.readouterr().out
    [kind] = (one for one in registry() if one.place.kind == "Token")
    assert yaml.load(text, yaml.CSafeLoader) == crd(kind)
    assert "&id" not in text


def test_a_kind_that_is_not_there_is_answered_with_those_that_are(capsys: pytest.CaptureFixture[str]) -> None:
    assert crds(kind="Cluster") == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert "slurm.nebius.ai SlurmCluster" in err
