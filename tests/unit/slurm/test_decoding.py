"""Long lists are decoded in pieces, and mean the same as in one."""

import json
from typing import Any

import pytest

from slurmery.slurm import answers, decoding
from slurmery.slurm.errors import GarbledError
from tests.unit.slurm.recordings import RELEASES, recording


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decoding, "_PIECE", 100)
    monkeypatch.setattr(answers, "_LONG", 100)


def whole(content: bytes, kind: type[answers.ListAnswer[Any]]) -> object:
    """What `read` makes of bytes, which it does not cut."""
    return answers.read(200, content, kind)


@pytest.mark.parametrize("indent", [None, 1, 2, "\t"])
@pytest.mark.parametrize(("release", "version"), RELEASES)
def test_pieces_mean_the_same_as_the_whole(release: str, version: str, indent: int | str | None) -> None:
    kinds: dict[str, type[answers.ListAnswer[Any]]] = {
        "jobs": answers.JobsAnswer,
        "slurmdb_jobs": answers.AccountedJobsAnswer,
    }
    for what, kind in kinds.items():
        tree = json.loads(recording(release, version, what).decode("latin-1"))
        tree["jobs"] *= 7
        compact = (",", ":") if indent is None else None
        text = json.dumps(tree, indent=indent, separators=compact, ensure_ascii=False)
        content = text.encode("latin-1")
        found, rest = decoding.decode_items(bytearray(content), "jobs", tuple[Any, ...])
        assert len(found) > len(tree["jobs"]) / 2
        assert len(rest) < len(content) / 2
        assert answers.read(200, bytearray(content), kind) == whole(content, kind)


@pytest.mark.parametrize(
    "name",
    ['},{"job_id":', '}, {"job_id": 7', "},\n {", '"}],"errors":[{"error_number":1}]', "\\", '\\"', "é\x7f"],
)
def test_no_name_of_a_job_is_taken_for_the_end_of_one(name: str) -> None:
    for indent in (None, 1):
        jobs = [{"job_id": i, "name": name, "comment": "x" * 100} for i in range(20)]
        content = json.dumps({"jobs": jobs, "errors": []}, indent=indent).encode()
        answer = answers.read(200, bytearray(content), answers.JobsAnswer)
        assert isinstance(answer.items, tuple)
        assert [(job.job_id, job.name) for job in answer.items] == [(i, name) for i in range(20)]


def test_a_list_within_an_item_that_looks_like_the_list_is_not_cut() -> None:
    inner = [{"job_id": 5, "x": "y" * 60}] * 5
    jobs = [{"job_id": i, "inner": inner} for i in range(5)]
    text = json.dumps({"jobs": jobs})
    content = bytearray(text.encode())
    answer = answers.read(200, content, answers.JobsAnswer)
    assert isinstance(answer.items, tuple)
    assert [job.job_id for job in answer.items] == [0, 1, 2, 3, 4]
    assert content.decode() == text


@pytest.mark.parametrize("damage", [b"", b"]", b"}", b"x", b'{"job_id": "seven"}, '])
def test_damage_in_any_piece_makes_the_whole_garbled(damage: bytes) -> None:
    item = b'{"job_id": 7, "comment": "' + b"x" * 100 + b'"}'
    for place in range(5):
        items = [item] * 5
        items[place] = damage + item[:-1] if damage == b"" else damage + item
        content = bytearray(b'{"jobs": [' + b", ".join(items) + b"]}")
        with pytest.raises(GarbledError):
            answers.read(200, content, answers.JobsAnswer)


def test_no_piece_is_long(monkeypatch: pytest.MonkeyPatch) -> None:
    """msgspec keeps the interpreter to itself for one piece, so the pieces are what others wait for."""
    lengths: list[int] = []
    decode = decoding.decode

    def measured(body: bytes | bytearray | memoryview, kind: type[Any]) -> Any:
        lengths.append(len(body))
        return decode(body, kind)

    monkeypatch.setattr(decoding, "decode", measured)
    monkeypatch.setattr(answers, "decode", measured)
    content = json.dumps({"jobs": [{"job_id": i, "comment": "x" * 50} for i in range(1000)]}, indent=2)
    answer = answers.read(200, bytearray(content.encode()), answers.JobsAnswer)
    assert isinstance(answer.items, tuple)
    assert len(answer.items) == 1000
    assert max(lengths) < 500
