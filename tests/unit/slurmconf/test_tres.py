"""TRES strings, as slurmctld prints them."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slurmery.slurmconf.tres import Tres, TresError, gpus, parse

GIB = 1024**3
counts = st.integers(0, 10**9)
gres = st.dictionaries(st.from_regex(r"[a-z]{1,5}(:[a-z0-9_]{1,8})?", fullmatch=True), st.integers(1, 10**6))


def test_reads_what_a_gpu_node_has() -> None:
    tres = parse("cpu=128,mem=7812.50G,node=1,billing=128,gres/gpu=8,gres/gpu:h200=8")
    assert tres == Tres(
        cpu=128, memory=int(7812.5 * GIB), node=1, billing=128, gres=(("gpu", 8), ("gpu:h200", 8))
    )
    assert (tres.gpus, tres.gpu_types) == (8, {"h200": 8})


def test_gpus_are_counted_once_however_they_are_printed() -> None:
    assert parse("gres/gpu:h100=2,gres/gpu:h200=4").gpus == 6
    assert parse("gres/gpu=6,gres/gpu:h100=2,gres/gpu:h200=4").gpus == 6
    assert parse("cpu=4,gres/shard=6").gpus == 0


@pytest.mark.parametrize(
    ("gres", "count"),
    [
        ("gpu:2", 2),
        ("gpu:h200:8(S:0,2)", 8),
        ("gpu:h100:2(S:0),gpu:h200:4(S:1),tmpdisk:100", 6),
        ("gres/gpu:h200:8", 8),
        ("gres:gpu:4", 4),
        ("gres/gpu=4", 4),
        ("gres/gpu:h200=4", 4),
        ("gres/gpu", 1),
        ("gpu:h200", 1),
        ("gpudirect:7", 0),
        ("", 0),
    ],
)
def test_gpus_are_found_among_generic_resources(gres: str, count: int) -> None:
    assert gpus(gres) == count


@pytest.mark.parametrize(
    ("text", "amount"),
    [
        ("2000M", 2000 << 20),
        ("1k", 1024),
        ("2T", 2 << 40),
        ("1P", 1 << 50),
        ("512", 512),
        ("0", 0),
        ("1.5K", 1536),
    ],
)
def test_memory_suffixes_are_powers_of_1024(text: str, amount: int) -> None:
    assert parse(f"mem={text}").memory == amount


@pytest.mark.parametrize(
    "text", ["cpu=", "cpu=x", "mem=5X", "mem=1e3", "mem=-1", "gres/gpu=", "cpu", "mem=.5G"]
)
def test_bad_amounts_are_errors(text: str) -> None:
    with pytest.raises(TresError):
        parse(text)


def test_other_resources_are_passed_over() -> None:
    assert parse("cpu=1,energy=-2,license/matlab=many,fs/disk=1G") == Tres(cpu=1)


def test_nothing_is_nothing() -> None:
    assert parse("") == Tres()
    assert str(Tres()) == ""


@settings(deadline=None)
@given(counts, counts, counts, counts, gres)
def test_printing_and_reading_go_both_ways(
    cpu: int, memory: int, node: int, billing: int, generic: dict[str, int]
) -> None:
    tres = Tres(cpu, memory, node, billing, tuple(generic.items()))
    assert parse(str(tres)) == tres


@settings(deadline=None)
@given(st.text(max_size=30))
def test_any_text_is_tres_or_a_tres_error(text: str) -> None:
    try:
        parse(text)
    except TresError:
        return
