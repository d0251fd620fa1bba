import os
import subprocess
import sys

import pytest

from slurmery import __version__
from slurmery.cli.app import TOOLS, app
from slurmery.cli.programs import PROGRAMS

CPU_SECONDS = 0.3


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as ended:
        app(arguments)
    out, err = capsys.readouterr()
    return int(ended.value.code or 0), out, err


def cpu_seconds(*arguments: str) -> float:
    process = subprocess.Popen([sys.executable, "-m", "slurmery", *arguments], stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = status
    assert status == 0
    return used.ru_utime + used.ru_stime


def test_the_version_is_told_at_once() -> None:
    assert min(cpu_seconds("version") for _ in range(3)) < CPU_SECONDS


def test_the_version_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    for word in ("version", "--version"):
        status, out, _ = run(capsys, word)
        assert (status, out.split()[:2]) == (0, ["slurmery", __version__])


def test_help_names_every_tool_and_program_without_importing_them(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(capsys, "--help")
    assert status == 0
    assert [name for name in (*TOOLS, *(one.name for one in PROGRAMS)) if name not in out] == []
    code = (
        "import sys; from slurmery.cli import app; print('pydantic' in sys.modules, 'aiohttp' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False"]


def test_a_misspelt_command_is_corrected(capsys: pytest.CaptureFixture[str]) -> None:
    status, _, err = run(capsys, "valdiate")
    assert status == 2
    assert 'Did you mean "validate"?' in " ".join(err.split())


def test_programs_read_all_that_follows_their_name(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(capsys, "operator", "-help")
    assert (status, out.splitlines()[0]) == (0, "Usage: slurmery operator [flags]")
    status, _, err = run(capsys, "operator", "-leader-elect=false", "--version", "--", "-x")
    assert status == 2
    assert "--version is not a flag of this program" in err
    assert "'-x' belongs to no flag" in err
