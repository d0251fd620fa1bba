import json
import logging
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest
import structlog

from slurmery.cli import start as starting
from slurmery.cli.programs import PROGRAMS, Program
from slurmery.cli.settings.shared import LogSettings
from slurmery.kube.errors import ConfigError

POWER = next(program for program in PROGRAMS if program.name == "power-manager")


@pytest.fixture(autouse=True)
def _logging_as_before() -> Iterator[None]:
    config, handlers, level = structlog.get_config(), logging.root.handlers[:], logging.root.level
    yield
    structlog.configure(**config)
    logging.root.handlers[:] = handlers
    logging.root.setLevel(level)


@dataclass(frozen=True)
class Tried(Program):
    """A program whose run is given."""

    body: Callable[[LogSettings], int | None] = lambda _: None

    @property
    def run(self) -> Callable[[LogSettings], int | None]:
        return self.body

    @property
    def settings(self) -> type[LogSettings]:
        return LogSettings


def outcome(body: Callable[[LogSettings], int | None], *arguments: str) -> int:
    return starting.start(Tried("tried", "Try", "", "", (), body), arguments, {})


def failing(error: Exception) -> Callable[[LogSettings], int | None]:
    def body(_: LogSettings) -> None:
        raise error

    return body


@pytest.mark.parametrize("word", ["-h", "--help", "-help"])
def test_help_is_printed_whatever_else_is_said(word: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert starting.start(POWER, ["--nodes", word], {}) == 0
    assert capsys.readouterr().out.startswith("Usage: slurmery power-manager resume|suspend")


def test_misuse_is_told_with_a_way_out(capsys: pytest.CaptureFixture[str]) -> None:
    assert starting.start(POWER, ["suspend", "--node=a"], {}) == 2
    assert capsys.readouterr().err.splitlines() == [
        "slurmery power-manager: --node is not a flag of this program; did you mean --nodes?",
        "slurmery power-manager: --nodes is required",
        "`slurmery power-manager --help` lists its flags.",
    ]


def test_a_run_that_ends_well_is_a_success() -> None:
    assert outcome(lambda _: None) == 0
    assert outcome(lambda _: 3) == 3


def test_what_a_person_can_mend_is_a_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    group = ExceptionGroup(
        "several", [ConfigError("no cluster"), ExceptionGroup("more", [OSError("no port")])]
    )
    for error, words in ((ConfigError("no cluster"), "no cluster"), (group, "no cluster; no port")):
        assert outcome(failing(error)) == 1
        last = json.loads(capsys.readouterr().err.splitlines()[-1])
        assert (last["msg"], last["error"]) == ("Stopped", words)
        assert "exception" not in last


def test_what_nobody_expected_shows_its_origin(capsys: pytest.CaptureFixture[str]) -> None:
    assert outcome(failing(ExceptionGroup("several", [KeyError("gone")]))) == 1
    last = json.loads(capsys.readouterr().err.splitlines()[-1])
    assert last["msg"] == "Crashed"
    assert "KeyError" in last["exception"]


def test_the_power_manager_does_not_claim_what_it_has_not_done(capsys: pytest.CaptureFixture[str]) -> None:
    assert starting.start(POWER, ["resume", "--nodes=gpu"], os.environ) == 2
    assert "is no worker of a NodeSet" in capsys.readouterr().err
