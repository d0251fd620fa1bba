import pytest
from hypothesis import given
from hypothesis import strategies as st

from slurmery.slurmconf import text
from slurmery.slurmconf.text import TextError, entry, record, section, settings, united
from tests.unit.slurmconf.reader import read


def test_a_file_is_sections_of_lines_with_a_final_line_break() -> None:
    written = text.file(
        section("GENERAL", [entry("ClusterName", "blue"), entry("SlurmctldPort", 6817)]),
        section("EMPTY", []),
        section("NODESET & PARTITION", [record(("NodeSet", "gpu"), ("Feature", "gpu"))]),
    )
    assert written == (
        "#\n### GENERAL ###\nClusterName=blue\nSlurmctldPort=6817\n"
        "#\n### NODESET & PARTITION ###\nNodeSet=gpu Feature=gpu\n"
    )


def test_a_file_without_sections_is_lines_only() -> None:
    assert text.file(["A=1", "B=2"]) == "A=1\nB=2\n"
    assert text.file() == ""


@pytest.mark.parametrize(
    ("given", "written"),
    [
        ("plain", "plain"),
        ("a,b=c:/d(e)", "a,b=c:/d(e)"),
        ("with space", '"with space"'),
        ("", '""'),
        ("half#pound", r"half\#pound"),
        ("back\\slash", r"back\\slash"),
        ("ends\\", r"ends\\"),
        ('in"side', 'in"side'),
        ("ünïcode", "ünïcode"),
    ],
)
def test_values_are_quoted_and_escaped_as_slurm_reads_them(given: str, written: str) -> None:
    assert entry("StoragePass", given) == f"StoragePass={written}"
    assert read(entry("StoragePass", given)) == [[("StoragePass", given)]]


@pytest.mark.parametrize(
    "bad", ["a\nAuthType=auth/none", "a\rb", "\t", "\x00", "a\x1b[0m", "\u2028", "\x85", '"x"', 'a "b" c']
)
def test_what_cannot_be_written_is_an_error_that_names_the_key(bad: str) -> None:
    with pytest.raises(TextError, match=r"^ClusterName must not"):
        entry("ClusterName", bad)


@given(st.text(max_size=40))
def test_no_value_says_more_than_itself(value: str) -> None:
    try:
        line = record(("NodeSet", value), ("Feature", "x"))
    except TextError:
        return
    assert read(f"A=1\n{line}\nB=2\n") == [
        [("A", "1")],
        [("NodeSet", value), ("Feature", "x")],
        [("B", "2")],
    ]


def test_raw_text_keeps_its_lines_but_no_control_characters() -> None:
    assert text.raw("extraConf", "A=1\n# why\n\n B=2 \n\n") == ["A=1", "# why", "", " B=2 "]
    assert text.raw("extraConf", " \n ") == []
    with pytest.raises(TextError, match=r"^extraConf must not contain a control character"):
        text.raw("extraConf", "A=1\x00B")


def test_what_ends_in_a_continuation_swallows_no_line_of_ours() -> None:
    written = text.file(
        section("EXTRA CONFIG", text.raw("extraConf", "A=1\\")), section("MERGED CONFIG", ["B=2"])
    )
    assert read(written) == [[("A", "1")], [("B", "2")]]


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ("", {}),
        ("Foo=bar", {"foo": "bar"}),
        ("  Foo = bar  ", {"foo": "bar"}),
        ("FOO=1\nfoo=2", {"foo": "2"}),
        ("Foo=bar # why\n#Bar=1", {"foo": "bar"}),
        ("Foo=a,\\\nb,\\\nc", {"foo": "a,b,c"}),
        ("Foo=a\\", {"foo": "a"}),
        ("Foo=bar\r\nBar=1\r\n", {"foo": "bar", "bar": "1"}),
        ('Foo="a,b"', {"foo": "a,b"}),
        ("Foo=a b\nBar=\nno setting", {}),
        ("NodeSet=a Feature=a", {}),
    ],
)
def test_settings_follow_the_rules_of_the_contract(given: str, found: dict[str, str]) -> None:
    assert settings(given) == found


@pytest.mark.parametrize(
    ("ours", "theirs", "stated"),
    [
        ({"Foo": ["bar", "baz"]}, "", []),
        ({"Foo": ["bar", "baz"]}, "Other=1", []),
        ({"Foo": ["bar", "baz"]}, "Foo=fizz,buzz", ["Foo=bar,baz,buzz,fizz"]),
        ({"Foo": ["bar", "baz"]}, "foo=fizz,buzz,", ["Foo=bar,baz,buzz,fizz"]),
        ({"Foo": ["bar", "baz"]}, "Foo=baz,buzz", ["Foo=bar,baz,buzz"]),
        ({"Foo": ["bar"], "Fizz": ["buzz"]}, "Foo=a\nFizz=b", ["Fizz=b,buzz", "Foo=a,bar"]),
        ({"Foo": ["Overlap", "Thing"]}, "Foo=overlap,Buzz", ["Foo=Overlap,Thing,buzz"]),
        ({"Foo": ["overlap=0"]}, "Foo=OVERLAP=1,extra=2", ["Foo=extra=2,overlap=0"]),
        ({"Foo": ["bar"]}, "Foo=one\nFoo=two", ["Foo=bar,two"]),
        ({"Foo": ["bar"]}, "Foo=Path=/Data/Keys", ["Foo=bar,path=/Data/Keys"]),
    ],
)
def test_options_of_both_are_united(ours: dict[str, list[str]], theirs: str, stated: list[str]) -> None:
    assert united(ours, theirs) == stated


def test_the_part_before_a_section_ends_at_its_title() -> None:
    written = text.file(section("ONE", ["A=1"]), section("TWO", ["A=2"]))
    assert settings(text.before(written, "TWO")) == {"a": "1"}
    assert text.before("A=1", "TWO") == "A=1"
