import pytest

from slurmery.health.active.script import ScriptError, options
from slurmery.slurm.model import Number

SCRIPT = """#!/bin/bash
#SBATCH --deadline="now+8hours" --time=1:30:00
#SBATCH --gpus-per-node=8 --exclusive
#SBATCH --mem 0 -N1
#SBATCH -J ignored
# a remark
set -e
#SBATCH --wckey=x
srun dcgmi diag -r 2
"""


def test_the_options_above_the_first_command_are_passed_on() -> None:
    assert options(SCRIPT, 1000.0) == {
        "deadline": 1000 + 8 * 3600,
        "time_limit": Number(number=90),
        "tres_per_node": "gres/gpu:8",
        "shared": ("none",),
        "memory_per_node": Number(number=0),
        "nodes": "1",
    }


@pytest.mark.parametrize(
    ("text", "minutes"), [("45", 45), ("45:30", 46), ("2:00:00", 120), ("1-2", 1560), ("1-0:30", 1470)]
)
def test_times_are_minutes(text: str, minutes: int) -> None:
    assert options(f"#SBATCH -t {text}", 0)["time_limit"] == Number(number=minutes)


@pytest.mark.parametrize(("text", "amount"), [("4G", 4096), ("512", 512), ("1024K", 1), ("1T", 1048576)])
def test_memory_is_megabytes(text: str, amount: int) -> None:
    assert options(f"#SBATCH --mem={text}", 0)["memory_per_node"] == Number(number=amount)


@pytest.mark.parametrize("line", ["--wckey=x", "--time=soon", "--deadline=2030-01-01", "--mem=lots"])
def test_what_cannot_be_passed_on_is_told_not_dropped(line: str) -> None:
    with pytest.raises(ScriptError, match=line.partition("=")[0]):
        options(f"#!/bin/sh\n#SBATCH {line}\ntrue", 0)
