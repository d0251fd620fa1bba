import json
import os
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slurmery.onnode.checks import platform, slurm
from slurmery.onnode.checks.__main__ import in_time
from slurmery.onnode.checks.check import Check, Job, Scene, applies, checks
from slurmery.onnode.checks.consequence import Node, Result, Update, consequence
from slurmery.onnode.checks.run import run

ROOT = Path(__file__).parents[3]
IDLE = Node(frozenset({"IDLE"}))
CHECK = Check("disk", "true", on_fail="drain", on_ok="undrain", reason_base="[node_problem] disk")

SHOWN = """NodeName=worker-0 Arch=x86_64 CoresPerSocket=1
   State=IDLE+DRAIN ThreadsPerCore=1 TmpDisk=0 Weight=1 Owner=N/A MCS_label=N/A
   Comment=looked at by ana
   Reason=[node_problem] disk: /dev/sda1 is full [hc_program] [root@2026-11-15T12:00:00]
"""


def scene(context: str = "prolog", **changes: object) -> Scene:
    return Scene(context, frozenset({"CPU"}), frozenset({"IDLE"}), {})._replace(**changes)  # type: ignore[arg-type]


def test_a_failed_check_drains_with_its_reason_details_and_context() -> None:
    check = CHECK._replace(reason_append_details=True)
    update = consequence(check, Result(True, "sda1 is\nfull"), IDLE, "hc_program")
    assert update == Update(state="DRAIN", reason="[node_problem] disk: sda1 is full [hc_program]")


def test_an_admins_drain_is_neither_overwritten_nor_undone() -> None:
    drained = Node(frozenset({"IDLE", "DRAIN"}), reason="bad fan, ana")
    assert consequence(CHECK, Result(True), drained, "prolog") is None
    assert consequence(CHECK, Result(False), drained, "hc_program") is None


def test_a_check_that_passes_again_undoes_its_own_drain_and_comment() -> None:
    drained = Node(frozenset({"IDLE", "DRAIN"}), reason="[node_problem] disk [prolog]")
    assert consequence(CHECK, Result(False), drained, "hc_program") == Update(state="RESUME")
    comments = CHECK._replace(on_fail="comment", on_ok="uncomment")
    commented = Node(frozenset({"IDLE"}), comment="[node_problem] disk [prolog]")
    assert consequence(comments, Result(False), commented, "hc_program") == Update(comment="")
    assert consequence(comments, Result(True), commented, "prolog") is None


def test_what_scontrol_prints_is_understood() -> None:
    node = slurm.parse(SHOWN)
    assert node == Node(
        frozenset({"IDLE", "DRAIN"}),
        reason="[node_problem] disk: /dev/sda1 is full [hc_program]",
        comment="looked at by ana",
    )


@pytest.mark.parametrize(
    ("check", "where", "runs"),
    [
        ({}, {}, True),
        ({"contexts": ("epilog",)}, {}, False),
        ({"contexts": ("none",)}, {}, False),
        ({"platforms": ("8xH200",)}, {}, False),
        ({"platforms": ("8xH200",)}, {"platforms": frozenset({"8xH200", "8xGPU"})}, True),
        ({"node_states": ("drain",)}, {}, False),
        ({"node_states": ("drain",)}, {"states": frozenset({"IDLE", "DRAIN"})}, True),
        ({"need_env": ("SLURM_JOB_ID",)}, {}, False),
        ({"need_env": ("SLURM_JOB_ID",)}, {"environment": {"SLURM_JOB_ID": "1"}}, True),
        ({"skip_for_cpu_jobs": True}, {"job": Job(0, 8)}, False),
        ({"skip_for_partial_gpu_jobs": True}, {"job": Job(4, 8)}, False),
        ({"skip_for_partial_gpu_jobs": True}, {"job": Job(8, 8)}, True),
        ({}, {"job": Job(8, 8, comment="please skip_checks")}, False),
    ],
)
def test_a_check_runs_where_it_is_meant_to(
    check: dict[str, object], where: dict[str, object], runs: bool
) -> None:
    assert applies(CHECK._replace(**check), scene(**where)) is runs  # type: ignore[arg-type]


def test_a_bad_entry_is_told_and_the_others_still_run() -> None:
    good, bad = checks(
        [
            {"name": "a", "command": "true"},
            {"name": "b"},
            {"name": "c", "command": "x", "on_fail": "explode"},
            7,
        ]
    )
    assert [one.name for one in good] == ["a"]
    assert bad == [
        "checks.json, entry 1: command is missing",
        "checks.json, entry 2: on_fail: one of none, drain, comment is wanted, not explode",
        "checks.json, entry 3: an object is wanted",
    ]


json_values = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(Check._fields), inner, max_size=4)
    ),
    max_leaves=8,
)


@given(json_values)
def test_no_file_is_a_crash(content: object) -> None:
    checks(content)


def test_the_machine_is_told_by_the_driver_alone(tmp_path: Path) -> None:
    for number in range(8):
        (tmp_path / f"0000:0{number}:00.0").mkdir()
        (tmp_path / f"0000:0{number}:00.0/information").write_text("Model: \t NVIDIA H200\nIRQ: 5\n")
    assert platform.tags(platform.gpus(str(tmp_path))) == {"GPU", "8xGPU", "8xH200"}
    assert platform.tags([]) == {"CPU"}


def test_a_command_ends_fails_and_tells_details(tmp_path: Path) -> None:
    environment = {**os.environ, "CHECKS_NODE": "worker-0", "CHECKS_CONTEXT": "epilog"}
    told = Check("a", "echo seen; echo 'row 7' >&3; exit 3", log="slurm_scripts/$worker.$name.$context.out")
    assert run(told, environment, str(tmp_path)) == Result(True, "row 7")
    assert (tmp_path / "slurm_scripts/worker-0.a.epilog.out").read_text() == "seen\n"
    assert run(Check("b", "true"), environment, str(tmp_path)) == Result(False, "")


def test_a_command_that_hangs_has_failed_and_leaves_nothing_behind(tmp_path: Path) -> None:
    mark = tmp_path / "late"
    began = time.monotonic()
    result = run(Check("a", f"(sleep 2; touch {mark}) & sleep 60", timeout=0.2), os.environ, str(tmp_path))
    assert result == Result(True, "no answer within 0.2 s")
    assert time.monotonic() - began < 30
    time.sleep(2.2)
    assert not mark.exists()


def test_a_health_check_that_hangs_is_found_before_slurmd_loses_patience() -> None:
    long = CHECK._replace(timeout=60.0)
    assert in_time(long, "prolog", 300.0) == long
    assert in_time(long, "hc_program", 0.0) == long._replace(timeout=50.0)
    assert in_time(CHECK._replace(timeout=5.0), "hc_program", 20.0) == CHECK._replace(timeout=5.0)
    assert in_time(long, "hc_program", 49.5) is None


class Node0:
    """A machine with the runner on it and a scontrol that remembers what it was told."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.shown = folder / "shown"
        self.told = folder / "told"
        self.shown.write_text(SHOWN.replace("IDLE+DRAIN", "IDLE").replace("   Reason", "   Old"))
        program = folder / "scontrol"
        program.write_text(
            f'#!/bin/sh\nif [ "$1" = show ]; then cat {self.shown}; else echo "$@" >> {self.told}; fi\n'
        )
        program.chmod(program.stat().st_mode | stat.S_IEXEC)

    def run(self, context: str, entries: object, **environment: str) -> int:
        file = self.folder / "checks.json"
        file.write_text(json.dumps(entries))
        path = {"PATH": f"{self.folder}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT / "src/slurmery")}
        words = [sys.executable, "-m", "onnode.checks", context, str(file)]
        return subprocess.run(words, env={**path, **environment}, check=False).returncode


FAILING = [{"name": "disk", "command": "false", "on_fail": "drain", "reason_base": "[node_problem] disk"}]


def test_a_failed_prolog_drains_the_node_and_gives_the_job_back(tmp_path: Path) -> None:
    node = Node0(tmp_path)
    assert node.run("prolog", FAILING, SLURMD_NODENAME="worker-0", SLURM_JOB_ID="7") == 1
    assert (
        node.told.read_text() == "update nodename=worker-0 state=DRAIN reason=[node_problem] disk [prolog]\n"
    )


def test_a_failed_epilog_or_health_check_harms_no_job(tmp_path: Path) -> None:
    node = Node0(tmp_path)
    assert node.run("hc_program", FAILING, SLURMD_NODENAME="worker-0") == 0
    assert "state=DRAIN" in node.told.read_text()


@pytest.mark.parametrize(
    "entries", ["no list", [{"name": 1}], [{"name": "a", "command": "true", "log": "/"}]]
)
def test_an_internal_error_in_a_prolog_harms_no_job(tmp_path: Path, entries: object) -> None:
    assert Node0(tmp_path).run("prolog", entries, SLURMD_NODENAME="worker-0") == 0


def test_a_dead_slurmctld_in_a_prolog_harms_no_job(tmp_path: Path) -> None:
    node = Node0(tmp_path)
    (tmp_path / "scontrol").write_text("#!/bin/sh\nexit 1\n")
    assert node.run("prolog", FAILING, SLURMD_NODENAME="worker-0") == 0
