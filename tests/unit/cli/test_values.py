import contextlib
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slurmery.cli.values import (
    ALL,
    Count,
    Labels,
    Level,
    Names,
    Namespaces,
    Percent,
    Port,
    Switches,
    Url,
    Whole,
    kind_of,
)
from slurmery.kube.health import Address
from slurmery.kube.logs import Format

OFTEN = timedelta(seconds=90)


def read(annotation: Any, text: str) -> Any:
    return kind_of(Annotated[annotation, "a flag"]).read(text)


@pytest.mark.parametrize(
    ("annotation", "text", "value"),
    [
        *((bool, text, True) for text in ("1", "t", "T", "true", "TRUE", "True")),
        *((bool, text, False) for text in ("0", "f", "F", "false", "FALSE", "False")),
        (timedelta, "2m", timedelta(minutes=2)),
        (timedelta, "1h30m", timedelta(minutes=90)),
        (timedelta, "250ms", timedelta(milliseconds=250)),
        (timedelta, "1.5h", timedelta(minutes=90)),
        (timedelta, ".5s", timedelta(milliseconds=500)),
        (timedelta, "+3us", timedelta(microseconds=3)),
        (timedelta, "1d", timedelta(days=1)),
        (Count, "0x10", 16),
        (Whole, "0", 0),
        (Port, "10250", 10250),
        (Percent, "85", 85.0),
        (Percent, "85.0", 85.0),
        (Address | None, ":8080", Address(None, 8080)),
        (Address | None, "[::1]:80", Address("::1", 80)),
        (Address | None, "9090", Address(None, 9090)),
        (Address | None, "0", None),
        (Url, "http://localhost:6820/", "http://localhost:6820"),
        (Names, " a, b,,a", ("a", "b")),
        (Namespaces, "*", ()),
        (Namespaces, "one,two", ("one", "two")),
        (Labels, "env=prod,tier=", (("env", "prod"), ("tier", ""))),
        (Level, "warning", Level.WARN),
        (Level, "DPANIC", Level.ERROR),
        (Level, "2", Level.DEBUG),
        (Level, "chatty", Level.INFO),
        (Labels, "", ()),
        (Labels, " env=prod , tier = critical ,,", (("env", "prod"), ("tier", "critical"))),
        (Labels, "env=prod,env=test", (("env", "prod"), ("env", "test"))),
        (Labels, "note=a=b", (("note", "a=b"),)),
        (Format, "console", Format.PLAIN),
        (Path, "/mnt/jail", Path("/mnt/jail")),
        (Path | None, "", None),
    ],
)
def test_values_are_read_as_go_programs_write_them(annotation: Any, text: str, value: object) -> None:
    assert read(annotation, text) == value


@pytest.mark.parametrize(
    ("annotation", "text", "words"),
    [
        (bool, "yes", "must be true or false"),
        (timedelta, "5", "must be a duration longer than nothing, such as 30s"),
        (timedelta, "", "must be a duration"),
        (timedelta, "-3s", "must be a duration longer"),
        (timedelta, "0s", "must be a duration longer"),
        (timedelta, "9" * 400 + "h", "must be a duration"),
        (Count, "0", "must be a whole number of at least 1"),
        (Count, "many", "must be a whole number of at least 1"),
        (Count, "9" * 5000, "must be a whole number"),
        (Port, "70000", "must be a port"),
        (Percent, "101", "must be a percentage"),
        (Percent, "nan", "must be a percentage"),
        (Address | None, "everywhere", "is not an address like :8080"),
        (Url, "localhost:6820", "such as http://localhost:6820"),
        (Url, "http://[", "such as http://localhost:6820"),
        (Labels, "env", "must be labels such as env=prod"),
        (Labels, "=prod", "must be labels such as env=prod"),
        (Format, "xml", "must be json or plain"),
    ],
)
def test_what_cannot_be_read_is_told_with_an_example(annotation: Any, text: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        read(annotation, text)


WORDS = st.text("abcdefghijklmnopqrstuvwxyz-", min_size=1, max_size=8).filter(lambda word: word.strip("-"))
VALUES: dict[Any, st.SearchStrategy[Any]] = {
    bool: st.booleans(),
    str: st.text(),
    Count: st.integers(1, 2**31 - 1),
    Whole: st.integers(0, 2**31 - 1),
    Port: st.integers(1, 65535),
    Percent: st.floats(0, 100),
    timedelta: st.timedeltas(timedelta(microseconds=1), timedelta(days=3000)),
    Address | None: st.one_of(
        st.none(),
        st.builds(Address, st.sampled_from((None, "127.0.0.1", "::1", "localhost")), st.integers(0, 65535)),
    ),
    Names: st.lists(WORDS, unique=True).map(tuple),
    Labels: st.lists(st.tuples(WORDS, WORDS), unique_by="=".join).map(tuple),
    Switches: st.lists(WORDS, unique=True).map(lambda words: Switches(tuple(words))),
    Level: st.sampled_from(Level),
    Format: st.sampled_from(Format),
    Path: st.just(Path("/a/b")),
}


@given(st.data())
def test_every_value_that_is_written_is_read_back(data: st.DataObject) -> None:
    annotation = data.draw(st.sampled_from(list(VALUES)))
    value = data.draw(VALUES[annotation])
    kind = kind_of(Annotated[annotation, "a flag"])
    assert kind.read(kind.write(value)) == value


@given(st.sampled_from([*VALUES, Url, Namespaces]), st.text())
def test_no_text_breaks_a_reader(annotation: Any, text: str) -> None:
    with contextlib.suppress(ValueError):
        read(annotation, text)


@pytest.mark.parametrize(
    ("text", "on"),
    [
        ("", {"cluster", "nodeset", "topology"}),
        ("*", {"cluster", "nodeset", "topology"}),
        ("cluster,Topology", {"cluster", "topology"}),
        ("*, -nodeset", {"cluster", "topology"}),
        ("-nodeset", {"cluster", "topology"}),
        ("cluster,-cluster", set()),
    ],
)
def test_switches_turn_parts_on_and_off(text: str, on: set[str]) -> None:
    switches = read(Switches, text)
    assert {name for name in ("cluster", "nodeset", "topology") if switches.on(name)} == on


def test_a_switch_for_nothing_is_refused() -> None:
    ALL.confine(("cluster",))
    with pytest.raises(ValueError, match="there is no -clutser; there are cluster, nodeset"):
        Switches(("*", "-clutser")).confine(("cluster", "nodeset"))
