"""The dashboard and the rules ask for what the exporter tells, and for nothing else."""

import json
import re
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
import yaml

from slurmery.exporter import demand, jobs, nodes, partitions, statistics
from slurmery.exporter.exposition import AGE
from slurmery.exporter.jobs import JobWriter
from slurmery.exporter.nodes import NodeLabels
from slurmery.exporter.outages import Outages
from slurmery.exporter.scope import Scope
from slurmery.exporter.vitals import Vitals
from slurmery.slurm.model import Job, Node
from slurmery.slurm.records import Diag, Partition, RpcByType, RpcByUser
from tests.unit.exporter.parsed import Series, parsed

CHART = Path(__file__).parents[3] / "charts/slurmery-monitoring"
DASHBOARD = json.loads((CHART / "dashboards/slurm.json").read_text())
GROUPS = yaml.safe_load((CHART / "rules/slurm.yaml").read_text())["groups"]
RULES = [rule for group in GROUPS for rule in group["rules"]]
EXPRESSIONS = [
    *(rule["expr"] for rule in RULES),
    *(target["expr"] for panel in DASHBOARD["panels"] for target in panel.get("targets", ())),
]
# A name, and the labels that it is narrowed by.
SELECTOR = re.compile(r"\b(slurm[a-z_:]+)(?:\{([^}]*)\})?")
LABEL = re.compile(r"([a-z_]+)\s*(?:=~|!=|=)")
GROUPED = re.compile(r"\bby \(([^)]*)\)")


async def everything() -> Series:
    """At least one series of every name."""
    scope, labels = Scope(), NodeLabels(Scope())
    outages = Outages(labels.state, nodes.gpus)
    for state in ("IDLE",), ("ALLOCATED", "DRAIN"), ("DOWN",), ("IDLE",):
        node = Node(name="w-0", state=state, partitions=("all",), topology="default:b1")
        await outages.update((node,), 1000.0)
    work = [Job(job_id=1, job_state=("RUNNING",), partition="all", account="a", user_name="u", nodes="w-0",
                tres_req_str="cpu=1,mem=1M", raw_start_time=1)]  # fmt: skip
    job_blocks, durations = await JobWriter(scope, {}).write(work)
    diag = Diag(rpcs_by_message_type=(RpcByType("X", 1, 1),), rpcs_by_user=(RpcByUser("u", 1, 1, 1),))
    vitals = Vitals()
    vitals.begun("nodes")
    vitals.ended("nodes", 1.0, failed=True)
    page = [
        *await nodes.present((node,), labels, scope),
        *await nodes.past(outages),
        await nodes.seconds(outages),
        *job_blocks,
        durations.block(2.0),
        *demand.blocks(await demand.tallies(work), ()),
        *partitions.blocks((Partition(name="all"),)),
        *statistics.blocks(diag),
    ]
    age: Series = {(AGE.name, frozenset({("collector", "nodes")})): 1.0}
    return parsed(page) | parsed(vitals.render().decode()) | age


def selections(expression: str) -> Iterator[tuple[str, set[str]]]:
    for name, matchers in SELECTOR.findall(expression):
        yield name, set(LABEL.findall(matchers)) - {"namespace"}


@pytest.mark.parametrize("expression", EXPRESSIONS)
async def test_every_metric_and_label_exists(expression: str) -> None:
    series = await everything()
    recorded = {rule["record"] for rule in RULES if "record" in rule}
    known: set[str] = set()
    for name, labels in selections(expression):
        if name in recorded:
            known |= {"state_base", "state_is_drain", "message_type"}
            continue
        found = [{label for label, _ in labels} for (exposed, labels) in series if exposed == name]
        assert found, f"nothing is called {name}"
        assert labels <= found[0], f"{name} has no {labels - found[0]}"
        known |= found[0]
    grouped = {label.strip() for group in GROUPED.findall(expression) for label in group.split(",")}
    assert grouped <= known


def test_every_alert_says_how_bad_it_is_and_what_it_is() -> None:
    alerts = [rule for rule in RULES if "alert" in rule]

    assert len({rule["alert"] for rule in alerts}) == len(alerts)
    for rule in alerts:
        assert rule["labels"]["severity"] in {"info", "warning", "critical"}
        assert rule["annotations"]["summary"].endswith(".")


def test_panels_do_not_overlap() -> None:
    def cells(panel: dict[str, Any]) -> set[tuple[int, int]]:
        place = panel["gridPos"]
        return {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }

    panels = DASHBOARD["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    assert all(x < 24 for panel in panels for x, _ in cells(panel))
    for one, other in combinations(panels, 2):
        assert not cells(one) & cells(other), f"{one['title']} covers {other['title']}"


def test_every_chart_that_can_be_drawn_has_a_source() -> None:
    assert all(
        panel["datasource"]["uid"] == "${datasource}"
        for panel in DASHBOARD["panels"]
        if panel["type"] != "row"
    )
    assert jobs.OMITTED.name in " ".join(EXPRESSIONS)
