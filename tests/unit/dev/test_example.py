from pathlib import Path

import pytest
import yaml

from dev import example, paths
from slurmery.api.validation import validate

FILES = sorted((paths.ROOT / "examples").rglob("*.yaml"))


@pytest.mark.parametrize("file", FILES, ids=lambda file: f"{file.parent.name}/{file.name}")
def test_examples_are_valid(file: Path) -> None:
    for found in yaml.safe_load_all(file.read_text()):
        if found["apiVersion"].startswith("slinky.slurm.net/"):
            assert not validate(found)


def test_the_demo_uses_the_images_that_its_nodes_have() -> None:
    text = example.manifest("localhost/slurmery", "24.11")

    assert "localhost/slurmery/slurmctld:24.11" in text
    assert "ghcr.io" not in text
    assert "26.05" not in text
