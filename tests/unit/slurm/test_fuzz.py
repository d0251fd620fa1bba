"""Mutated answers of real Slurms: only errors of ours, and never a node called drained that was not."""

import json
import math
import random
from collections.abc import Callable
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slurmery.slurm import answers, decoding
from slurmery.slurm.errors import SlurmError
from slurmery.slurm.model import Node
from slurmery.slurm.snapshot import Snapshot, View
from tests.unit.slurm.recordings import RELEASES, recording

KINDS: dict[str, type[answers.Answer]] = {
    "nodes": answers.NodesAnswer,
    "jobs": answers.JobsAnswer,
    "partitions": answers.PartitionsAnswer,
    "reservations": answers.ReservationsAnswer,
    "jobs_state": answers.JobStatesAnswer,
    "slurmdb_jobs": answers.AccountedJobsAnswer,
    "ping": answers.PingsAnswer,
    "diag": answers.DiagAnswer,
}

ODD: list[Any] = [
    None,
    True,
    0,
    -1,
    2**63,
    2**200,
    1e308,
    "",
    "DRAIN",
    "IDLE",
    [],
    ["DRAIN"],
    {},
    {"set": 1},
    [[]],
]


def mutate_bytes(content: bytes, chance: random.Random) -> bytes:
    body = bytearray(content)
    for _ in range(chance.randint(1, 4)):
        start = chance.randrange(len(body))
        end = min(len(body), start + chance.choice([0, 1, 2, 50]))
        body[start:end] = chance.randbytes(chance.choice([0, 1, 2, 20]))
        if not body:
            break
    return bytes(body[: chance.choice([len(body)] * 3 + [chance.randint(0, len(body))])])


def mutate_tree(content: bytes, chance: random.Random) -> bytes:
    tree = json.loads(content.decode(errors="replace"))
    for _ in range(chance.randint(1, 6)):
        parent, key = chance.choice(list(_places(tree)))
        match chance.randrange(3):
            case 0:
                del parent[key]
            case 1:
                # A copy: else later mutations would change it for all examples, or put it into itself.
                parent[key] = deepcopy(chance.choice(ODD))
            case _ if isinstance(parent, dict):
                parent[f"{key}_new"] = parent.pop(key)
            case _:
                parent.append(parent[key])
    return json.dumps(tree).encode()


def _places(tree: Any) -> list[tuple[Any, Any]]:
    found: list[tuple[Any, Any]] = []
    waiting = [tree]
    while waiting:
        item = waiting.pop()
        pairs = item.items() if isinstance(item, dict) else enumerate(item)
        for key, value in pairs:
            found.append((item, key))
            if isinstance(value, dict | list):
                waiting.append(value)
    return found or [({"x": 1}, "x")]


def use(answer: answers.Answer) -> None:
    """Ask everything that can be asked of what was decoded."""
    items = getattr(answer, "items", ())
    for item in items if isinstance(items, tuple) else ():
        for name in dir(item):
            if not name.startswith("_"):
                try:
                    getattr(item, name)
                except SlurmError:
                    continue


@settings(deadline=None, max_examples=300)
@given(
    st.sampled_from(RELEASES),
    st.sampled_from(sorted(KINDS)),
    st.sampled_from([mutate_bytes, mutate_tree]),
    st.sampled_from([200, 200, 200, 500, 404]),
    st.integers(0, 2**32),
)
def test_a_mutated_answer_is_an_answer_or_an_error_of_ours(
    release: tuple[str, str],
    kind: str,
    mutate: Callable[[bytes, random.Random], bytes],
    status: int,
    seed: int,
) -> None:
    content = mutate(recording(*release, kind), random.Random(seed))
    try:
        answer = answers.read(status, content, KINDS[kind])
    except SlurmError:
        return
    assert status == 200
    use(answer)


@settings(deadline=None, max_examples=300)
@given(st.sampled_from(RELEASES), st.sampled_from([mutate_bytes, mutate_tree]), st.integers(0, 2**32))
def test_a_mutated_list_means_the_same_in_pieces(
    release: tuple[str, str], mutate: Callable[[bytes, random.Random], bytes], seed: int
) -> None:
    content = mutate(recording(*release, "jobs"), random.Random(seed))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(decoding, "_PIECE", 1000)
        patch.setattr(answers, "_LONG", 1000)
        assert outcome(bytearray(content)) == outcome(content)


def outcome(content: bytes | bytearray) -> object:
    try:
        return answers.read(200, content, answers.JobsAnswer)
    except SlurmError as error:
        return type(error)


@settings(deadline=None, max_examples=500)
@given(st.sampled_from(RELEASES), st.sampled_from([mutate_bytes, mutate_tree]), st.integers(0, 2**32))
def test_a_mutated_answer_never_drains_a_busy_node(
    release: tuple[str, str], mutate: Callable[[bytes, random.Random], bytes], seed: int
) -> None:
    """Both recorded nodes have a job, and n1 a drain: one lost word away from a wrong answer."""
    content = mutate(recording(*release, "nodes"), random.Random(seed))
    try:
        answer = answers.read(200, content, answers.NodesAnswer)
    except SlurmError:
        return
    for node in answer.items if isinstance(answer.items, tuple) else ():
        if node.is_drained:
            assert _says_so_itself(content, node), content


def _says_so_itself(content: bytes, node: Node) -> bool:
    """A mutation may turn the record into one of a drained node; then Slurm's own words must all say so."""
    tree = json.loads(content.decode(errors="replace"))
    records = [record for record in tree["nodes"] if record.get("name") == node.name]
    return any(
        "DRAIN" in record["state"]
        and not {"MIXED", "ALLOCATED", "COMPLETING"} & set(record["state"])
        and not record.get("alloc_cpus")
        and not record.get("alloc_memory")
        for record in records
    )


@pytest.mark.parametrize(("release", "version"), RELEASES)
def test_no_single_lost_or_changed_field_drains_a_busy_node(release: str, version: str) -> None:
    tree = json.loads(recording(release, version, "nodes"))
    for record in tree["nodes"]:
        record["state"] = ["MIXED", "DRAIN"]
    for index, record in enumerate(tree["nodes"]):
        for key in list(record):
            for value in [..., *ODD]:
                broken = {
                    name: content for name, content in record.items() if name != key or value is not ...
                }
                if value is not ...:
                    broken[key] = value
                assert not _drained({"nodes": [*tree["nodes"][:index], broken]}), (key, value)


def _drained(tree: Any) -> bool:
    try:
        answer = answers.read(200, json.dumps(tree).encode(), answers.NodesAnswer)
    except SlurmError:
        return False
    assert isinstance(answer.items, tuple)
    snapshot = Snapshot(nodes=View({node.name: node for node in answer.items}, 0.0, ""))
    return any(snapshot.is_drained(name, 0.0, math.inf) for name in snapshot.nodes)
