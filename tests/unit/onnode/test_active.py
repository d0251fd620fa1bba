"""What the jobs of the shipped ActiveChecks run, on the machine of the test."""

from pathlib import Path

import pytest

from slurmery.onnode.active import fence
from slurmery.onnode.active.__main__ import main


@pytest.mark.parametrize(
    "trial", [("cpu-perf", "0.05", "1000"), ("mem-perf", "4"), ("disk-perf", "4")], ids=lambda trial: trial[0]
)
def test_a_sound_machine_passes_and_is_measured(
    trial: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(trial) == 0
    assert "B/s" in capsys.readouterr().out


@pytest.mark.parametrize("trial", ["mem-perf", "disk-perf"])
def test_a_machine_slower_than_expected_fails(trial: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([trial, "4", "1e9"]) == 1
    assert "at least 1e+09 are wanted" in capsys.readouterr().out


def test_a_job_without_a_gpu_must_not_get_hold_of_one(tmp_path: Path) -> None:
    (tmp_path / "nvidiactl").write_text("")
    assert fence.attempt(str(tmp_path)) == (False, "none of 0 GPUs can be opened")
    (tmp_path / "nvidia3").write_text("")
    assert fence.attempt(str(tmp_path)) == (True, "without a GPU of its own, a job can open nvidia3")


def test_an_unknown_trial_is_said() -> None:
    assert main(["fortune"]) == 2
