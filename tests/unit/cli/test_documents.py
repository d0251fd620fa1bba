import io
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from slurmery.cli.documents import DocumentError, documents


def read(tmp_path: Path, text: str) -> list[tuple[str, object]]:
    file = tmp_path / "all.yaml"
    file.write_text(text, encoding="utf-8")
    return [(one.origin.removeprefix(f"{file}: "), one.manifest) for one in documents(str(file))]


def test_every_document_is_found_with_its_number(tmp_path: Path) -> None:
    text = "---\n# nothing\n---\nkind: A\n---\nkind: List\nitems: [{kind: B}, {kind: C}]\n"
    assert read(tmp_path, text) == [
        ("document 2", {"kind": "A"}),
        ("document 3, item 1", {"kind": "B"}),
        ("document 3, item 2", {"kind": "C"}),
    ]


def test_json_is_yaml_too(tmp_path: Path) -> None:
    assert read(tmp_path, '{"kind": "A", "spec": {"size": 2}}') == [
        ("document 1", {"kind": "A", "spec": {"size": 2}})
    ]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("01:00:00", "01:00:00"),
        ("2026-01-01", "2026-01-01"),
        ("2026-01-01T00:00:00Z", "2026-01-01T00:00:00Z"),
        ("0644", 420),
        ("0x10", 16),
        ("-12", -12),
        ("1_000", 1000),
        ("1.5", 1.5),
        ("1e3", 1000.0),
        ("4Gi", "4Gi"),
        ("25%", "25%"),
        ("1.2.3", "1.2.3"),
        ("08", "08"),
        ("yes", True),
        ("~", None),
        ("'1'", "1"),
    ],
)
def test_scalars_are_what_kubernetes_takes_them_for(text: str, value: object, tmp_path: Path) -> None:
    assert read(tmp_path, f"kind: {text}") == [("document 1", {"kind": value})]


def test_keys_are_texts_and_anchors_work(tmp_path: Path) -> None:
    text = "a: &a {x: 1}\nb: {<<: *a, y: 2}\nc: {<<: {1: x}}\n1: one\ntrue: two\n"
    assert read(tmp_path, text) == [
        ("document 1", {"a": {"x": 1}, "b": {"x": 1, "y": 2}, "c": {"1": "x"}, "1": "one", "true": "two"})
    ]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a: 1\nb: [\n", "line 3, column 1: "),
        ("a: 1\nspec:\n  x: 1\n  y: 2\n  x: 3\n", "line 3, column 3: 'x' is given twice"),
        ("- a\n", "document 1: must be an object"),
        ("kind: A\n---\ntext\n", "document 2: must be an object"),
        ("a: !!python/object:os.system x\n", "line 1, column 4: "),
        ("a: \x00", "not YAML"),
        ("{[1]: 2}", "line 1, column 2: "),
    ],
)
def test_what_is_no_manifest_is_told_with_its_place(text: str, words: str, tmp_path: Path) -> None:
    with pytest.raises(DocumentError) as caught:
        read(tmp_path, text)
    assert words in str(caught.value)


def test_files_that_cannot_be_read_are_told(tmp_path: Path) -> None:
    for name, words in ((tmp_path / "none", "No such file"), (tmp_path, "Is a directory")):
        with pytest.raises(DocumentError, match=words):
            list(documents(str(name)))
    (tmp_path / "latin").write_bytes(b"a: \xe9")
    with pytest.raises(DocumentError, match="not YAML"):
        list(documents(str(tmp_path / "latin")))


def test_a_dash_is_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("kind: A"))
    [document] = documents("-")
    assert (document.origin, document.manifest) == ("standard input: document 1", {"kind": "A"})


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=st.text("abc:-[]{}&*!|>'\"#%@`?,.~0123456789 \n\t<", max_size=40))
def test_no_text_breaks_the_reader(text: str, tmp_path: Path) -> None:
    try:
        read(tmp_path, text)
    except DocumentError:
        return
