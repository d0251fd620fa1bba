import io
from pathlib import Path

import pytest

from slurmery.cli.app import app

TOKEN = """
apiVersion: slinky.slurm.net/v1beta1
kind: Token
metadata: {name: alice, namespace: slurm}
spec:
  username: alice
  jwtKeyRef: {name: keys, key: jwt}
"""
DROPPED = "is not a known field and will be dropped"
ALICE = "document 1, Token slurm/alice"
OTHER = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n"


def validate(capsys: pytest.CaptureFixture[str], folder: Path, *texts: str) -> tuple[int, list[str]]:
    names = [f"{number}.yaml" for number in range(len(texts))]
    for name, text in zip(names, texts, strict=True):
        (folder / name).write_text(text)
    with pytest.raises(SystemExit) as ended:
        app(["validate", *(word for name in names for word in ("-f", str(folder / name)))])
    return int(ended.value.code or 0), capsys.readouterr().out.replace(f"{folder}/", "").splitlines()


def test_good_manifests_pass(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert validate(capsys, tmp_path, TOKEN) == (0, ["1 checked: 0 errors, 0 warnings"])


def test_a_warning_is_told_and_is_no_error(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    status, lines = validate(capsys, tmp_path, TOKEN + "  lifetme: 1h\n")
    assert status == 0
    assert lines == [
        f"warning: 0.yaml: {ALICE}: spec.lifetme: {DROPPED}; did you mean lifetime?",
        "1 checked: 0 errors, 1 warnings",
    ]


def test_every_error_of_every_file_is_told_at_once(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    bad = TOKEN.replace("username: alice", "username: 5\n  lifetime: soon")
    status, lines = validate(capsys, tmp_path, f"{OTHER}---{bad}", "a: [\n", TOKEN)
    assert status == 1
    assert [line.removeprefix("error: 0.yaml: document 2, Token slurm/alice: ") for line in lines[:2]] == [
        "spec.username: must be a text, not a whole number",
        "spec.lifetime: must be a duration such as 30s, 15m or 1h30m",
    ]
    assert lines[2].startswith("error: 1.yaml: line 2, column 1: ")
    assert lines[3] == "2 checked, 1 of other kinds left alone: 3 errors, 0 warnings"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "apiVersion: slinky.slurm.net/v1alpha1\nkind: Token",
            "Token: there is no slinky.slurm.net/v1alpha1 Token; there is slinky.slurm.net/v1beta1 Token",
        ),
        (
            "apiVersion: slinky.slurm.com/v1beta1\nkind: Tokenn\nmetadata: {name: a}",
            "Tokenn a: there is no slinky.slurm.com/v1beta1 Tokenn; there is slinky.slurm.net/v1beta1 Token",
        ),
        ("kind: Token\nmetadata: []", "Token: apiVersion: is required"),
        ("apiVersion: v1", "manifest: kind: is required"),
    ],
)
def test_a_manifest_that_is_nearly_ours_is_corrected(
    text: str, words: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    status, lines = validate(capsys, tmp_path, text)
    assert status == 1
    assert lines[0].replace(": kind: there", ": there") == f"error: 0.yaml: document 1, {words}"


def test_nothing_checked_is_no_success(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert validate(capsys, tmp_path, OTHER) == (
        1,
        ["0 checked, 1 of other kinds left alone: 0 errors, 0 warnings"],
    )
    assert validate(capsys, tmp_path, "")[0] == 1


def test_files_are_named_with_or_without_a_flag(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    names = [str(tmp_path / name) for name in ("a", "b", "c")]
    for name in names:
        Path(name).write_text(TOKEN)
    for arguments in (["-f", *names], names, ["-f", names[0], "--file", names[1], "-f", names[2]]):
        with pytest.raises(SystemExit):
            app(["validate", *arguments])
        assert capsys.readouterr().out == "3 checked: 0 errors, 0 warnings\n"
    with pytest.raises(SystemExit) as ended:
        app(["validate"])
    assert ended.value.code == 2


def test_a_dash_is_standard_input(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(TOKEN))
    with pytest.raises(SystemExit) as ended:
        app(["validate", "-f", "-"])
    assert (ended.value.code, capsys.readouterr().out) == (0, "1 checked: 0 errors, 0 warnings\n")


def test_the_manifests_of_both_upstream_generations_pass(capsys: pytest.CaptureFixture[str]) -> None:
    folder = Path(__file__).parents[2] / "data/nebius"
    with pytest.raises(SystemExit) as ended:
        app(["validate", "-f", str(folder / "soperator-1.22.yaml"), "-f", str(folder / "soperator-5.0.yaml")])
    assert ended.value.code == 0
    assert " 0 errors" in capsys.readouterr().out
