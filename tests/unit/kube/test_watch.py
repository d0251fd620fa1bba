"""Lines and events out of whatever pieces the network makes of them."""

from collections.abc import AsyncIterator, Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slurmery.kube.errors import AnswerError, GoneError
from slurmery.kube.watch import events, lines
from tests.unit.kube.faults import event, failure, thing


async def pieces(chunks: Iterable[bytes]) -> AsyncIterator[bytes]:
    for chunk in chunks:
        yield chunk


@given(st.lists(st.binary(max_size=5).map(lambda data: data.replace(b"\n", b"")), max_size=5), st.data())
async def test_lines_are_the_same_wherever_they_are_cut(wanted: list[bytes], data: st.DataObject) -> None:
    text = b"".join(line + b"\n" for line in wanted)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)))))
    chunks = [text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    assert [line async for line in lines(pieces(chunks))] == [line for line in wanted if line]


async def test_a_line_may_be_longer_than_any_buffer() -> None:
    long = event("ADDED", thing("a", note="x" * 3_000_000))
    found = [e async for e in events(pieces(long[i : i + 65_536] for i in range(0, len(long), 65_536)))]
    assert len(found[0].object) > 3_000_000


async def test_half_a_line_at_the_end_is_no_event() -> None:
    found = [e.type async for e in events(pieces([event("ADDED", thing("a")), b'{"type": "MODI']))]
    assert found == ["ADDED"]


async def test_an_error_event_is_raised() -> None:
    with pytest.raises(GoneError):
        [e async for e in events(pieces([event("ERROR", failure(410, "Expired"))]))]


@pytest.mark.parametrize("line", [b"<html>\n", b'{"kind": "Status"}\n', b"[]\n"])
async def test_what_is_no_event_is_an_error(line: bytes) -> None:
    with pytest.raises(AnswerError):
        [e async for e in events(pieces([line]))]
