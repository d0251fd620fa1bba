"""What a worker waits for before slurmd starts."""

import os
from pathlib import Path

import pytest

from slurmery.onnode.worker_init import main

FAST = {"CONTROLLER_POLL_INTERVAL": "0.01", "TOPOLOGY_POLL_INTERVAL": "0.01", "TOPOLOGY_WAIT_TIMEOUT": "0.02"}


def _scontrol(folder: Path, script: str, monkeypatch: pytest.MonkeyPatch) -> None:
    program = folder / "scontrol"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")


def test_it_waits_until_slurmctld_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = tmp_path / "asked"
    says = f'[ -e {asked} ] && echo "Slurmctld(primary) at controller-0 is UP" || touch {asked}'
    _scontrol(tmp_path, says, monkeypatch)
    assert main(["wait-controller"], FAST) == 0
    assert asked.exists()


def test_it_gives_up_after_so_many_attempts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _scontrol(tmp_path, f'echo x >>{tmp_path}/asked; echo "controller-0 is DOWN"; exit 1', monkeypatch)
    assert main(["wait-controller"], {**FAST, "CONTROLLER_MAX_ATTEMPTS": "3"}) == 1
    assert (tmp_path / "asked").read_text().split() == ["x"] * 3
    assert "wait-controller: gave up" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("known", "gpu", "said"), [("node-a", "true", 0), ("node-b", "true", 1), ("node-b", "false", 0)]
)
def test_a_place_in_the_network_is_waited_for_but_not_for_ever(
    tmp_path: Path, known: str, gpu: str, said: int, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / known).touch()
    environ = {
        "TOPOLOGY_CONFIGMAP_PATH": str(tmp_path),
        "K8S_NODE_NAME": "node-a",
        "NODESET_GPU_ENABLED": gpu,
    }
    assert main(["wait-topology"], {**FAST, **environ}) == 0
    assert len(capsys.readouterr().err.splitlines()) == said


def test_a_step_that_does_not_exist_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["wait-controler"], FAST) == 2
    assert "wait-controler" in capsys.readouterr().err
