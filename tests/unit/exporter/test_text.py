"""What is written is read back as it was, whatever bytes users put into their names."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slurmery.exporter.text import Family, Labels, Text, joined, sample, slices
from tests.unit.exporter.parsed import one, parsed

FAMILY = Family("slurm_thing", "gauge", "A thing.")


def page(*lines: str) -> str:
    text = Text(FAMILY)
    text.add(lines)
    return text.block().plain.decode()


@given(st.text(), st.text())
def test_any_text_survives(first: str, second: str) -> None:
    series = parsed(page(sample(FAMILY.name, Labels("a", "b")(first, second), 1)))

    [((name, labels), value)] = series.items()
    readable = [text.encode(errors="replace").decode() for text in (first, second)]
    assert (name, value) == (FAMILY.name, 1)
    assert dict(labels) == dict(zip("ab", readable, strict=True))


@given(st.binary())
def test_any_bytes_survive_as_far_as_they_are_text(raw: bytes) -> None:
    decoded = raw.decode(errors="replace")

    [(_, labels)] = parsed(page(sample(FAMILY.name, Labels("a")(decoded), 1)))

    assert dict(labels) == {"a": decoded}


@pytest.mark.parametrize(
    "value", ["\ud800", 'a"} 5\nslurm_other 1\n', "\\", "\\n", "\r\n", "\0", "%s", "{}", "é\u2028"]
)
def test_awkward_values_stay_in_their_label(value: str) -> None:
    series = parsed(page(sample(FAMILY.name, Labels("a", "b")(value, "fine"), 1)))

    assert one(series, FAMILY.name, b="fine") == 1
    assert len(series) == 1


@given(st.integers(-(2**63), 2**64) | st.floats(allow_nan=False))
def test_numbers_are_read_back_exactly(value: float) -> None:
    assert list(parsed(page(sample(FAMILY.name, "", value))).values()) == [value]


def test_labels_can_be_left_out() -> None:
    labels = Labels("a", "b", "c", omitted={"b"})

    assert labels("1", "2", "3") == 'a="1",c="3"'
    assert Labels("a", omitted={"a"})("1") == ""
    assert joined("", 'a="1"', "", 'b="2"') == 'a="1",b="2"'


def test_a_family_without_series_is_not_mentioned() -> None:
    assert Text(FAMILY).block().plain == b""


def test_a_block_knows_how_many_series_it_has() -> None:
    text = Text(FAMILY)
    text.add(sample(FAMILY.name, Labels("a")(str(number)), number) for number in range(3))
    text.add([sample(FAMILY.name, Labels("a")("x"), 1)])

    assert text.block().series == len(parsed([text.block()])) == 4


async def test_others_have_their_turn_between_slices() -> None:
    turns = 0

    async def other() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    task = asyncio.create_task(other())
    seen = [item async for part in slices(range(2000)) for item in part]
    task.cancel()

    assert seen == list(range(2000))
    assert turns >= 8
