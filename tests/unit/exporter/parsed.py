"""Pages as Prometheus reads them, and small ways to make them."""

from collections.abc import Iterable, Mapping
from typing import Any

from prometheus_client.parser import text_string_to_metric_families

from slurmery.exporter.page import Block
from slurmery.slurm import answers
from slurmery.slurm.model import Job, Node
from tests.unit.slurm.recordings import recording

Series = dict[tuple[str, frozenset[tuple[str, str]]], float]


def text(blocks: Iterable[Block]) -> str:
    return b"".join(block.plain for block in blocks).decode()


def parsed(page: Iterable[Block] | str) -> Series:
    """Every series with its value. A family or a series that comes twice is an error."""
    content = page if isinstance(page, str) else text(page)
    found: Series = {}
    families: set[str] = set()
    for family in text_string_to_metric_families(content):
        assert family.name not in families, f"{family.name} comes twice"
        families.add(family.name)
        for sample in family.samples:
            key = sample.name, frozenset(sample.labels.items())
            assert key not in found, f"{key} comes twice"
            found[key] = sample.value
    return found


def of(series: Series, name: str) -> list[tuple[dict[str, str], float]]:
    """The series of one name."""
    return [(dict(labels), value) for (found, labels), value in series.items() if found == name]


def one(series: Series, name: str, **labels: str) -> float:
    """The value of the one series of that name that has these labels."""
    [value] = [value for found, value in of(series, name) if labels.items() <= found.items()]
    return value


def names(series: Mapping[tuple[str, Any], float]) -> set[str]:
    return {name for name, _ in series}


def nodes(release: str = "26.05", version: str = "v0.0.44") -> tuple[Node, ...]:
    items = answers.read(200, recording(release, version, "nodes"), answers.NodesAnswer).items
    assert isinstance(items, tuple)
    return items


def jobs(release: str = "26.05", version: str = "v0.0.44") -> tuple[Job, ...]:
    items = answers.read(200, recording(release, version, "jobs"), answers.JobsAnswer).items
    assert isinstance(items, tuple)
    return items
