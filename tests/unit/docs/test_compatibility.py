"""Tables that say which test of ours checks what: every test that they name exists.

`u/doors/test_merge.py`           a file or folder; u, c are tests/unit, tests/controlplane
`test_merge.py::test_a`           a test in it; without folders, the file may be anywhere
`…::test_a`, `::test_a`           in the file that was named last
`test_a`                          in any file
`test_a…`, `test_a*`              all that begin so
`test_{a,b}.py`                   both
"""

import re
from collections.abc import Iterator
from functools import cache
from itertools import product
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
TESTS = ROOT / "tests"
SHORT = {"u": "tests/unit", "c": "tests/controlplane"}
TABLES = sorted((ROOT / "docs/compatibility").glob("*.md"))
NAMED = re.compile(r"`((?:[uc]/|tests/|(?:…|)::)[^` ]+|test_[^` ]+)`")


@cache
def defined(file: Path) -> tuple[str, ...]:
    return tuple(re.findall(r"def (test_\w+)\(", file.read_text()))


def alternatives(text: str) -> Iterator[str]:
    parts = [part.split(",") for part in re.split(r"\{(.*?)\}", text)]
    return map("".join, product(*parts))


def files(path: str) -> list[Path]:
    """What a path means: a file, all files of a folder, or those of that name."""
    first, _, rest = path.partition("/")
    if not rest:
        return list(TESTS.rglob(path))
    place = ROOT / SHORT.get(first, first) / rest
    return [place] if place.is_file() else list(place.rglob("test_*.py"))


def parts(named: str) -> tuple[str | None, str]:
    """The file, "" for the last one and None for any; and the test, "" for all of them."""
    path, both, name = named.rpartition("::")
    if both:
        return path.strip("…"), name
    return (named, "") if "/" in named or named.endswith(".py") else (None, named)


def missing(text: str) -> Iterator[str]:
    last: list[Path] = []
    for named in NAMED.findall(text):
        for each in alternatives(named):
            path, name = parts(each)
            where = last if path == "" else files(path or "test_*.py")
            last = where if path else last
            known = [test for file in where for test in defined(file)]
            begins = name.rstrip("*…")
            exact = name != "" and begins == name
            if not any(test == name if exact else test.startswith(begins) for test in known):
                yield each


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_every_test_that_a_table_names_exists(table: Path) -> None:
    assert list(missing(table.read_text())) == []
