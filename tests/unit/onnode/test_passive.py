"""The shipped passive checks, on machines that the test makes up."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from slurmery.onnode.checks.__main__ import SHIPPED
from slurmery.onnode.checks.check import Scene, applies, checks
from slurmery.onnode.checks.run import UNKNOWN, run
from slurmery.onnode.passive import __main__ as program
from slurmery.onnode.passive import gpus, leftovers, memory, tmpfs
from slurmery.onnode.passive.disk import boot_disk_full

ROOT = Path(__file__).parents[3]
JOB = {"CHECKS_NODE": "n0", "SLURM_JOB_ID": "7", "SLURM_JOB_UID": str(os.getuid()), "SLURM_JOB_GPUS": "0,3"}
SHOWN = {
    "job": "JobId=7\n   NumNodes=2-2 NumCPUs=4\n   ReqTRES=cpu=4,mem=1G\n   AllocTRES=cpu=4,mem=4G,node=2\n",
    "node": "NodeName=n0\n   RealMemory=9000 AllocMem=1000 FreeMem=1 Sockets=4\n   State=IDLE\n",
}


@pytest.fixture
def slurm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Programs that answer what the files in this folder say; `squeue` there are the jobs on the node."""
    folder = tmp_path / "slurm"
    folder.mkdir()
    for name, text in {**SHOWN, "squeue": "7 1000\n"}.items():
        (folder / name).write_text(text)
    for name, answer in {"scontrol": "$2", "squeue": "squeue"}.items():
        path = tmp_path / "bin" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"#!/bin/sh\nexec cat {folder}/{answer}\n")
        path.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    return folder


def machine(folder: Path, available: int, **cgroup: str) -> str:
    """A machine with so many megabytes free, in a container of these limits."""
    (folder / "proc").mkdir(parents=True)
    (folder / "proc/meminfo").write_text(f"MemTotal:  99999999 kB\nMemAvailable: {available * 1024} kB\n")
    (folder / "sys/fs/cgroup").mkdir(parents=True)
    for name, text in cgroup.items():
        (folder / f"sys/fs/cgroup/memory.{name}").write_text(text)
    return str(folder)


def shipped() -> list[dict[str, Any]]:
    entries: list[dict[str, Any]] = json.loads(Path(SHIPPED).read_text())
    return entries


def test_every_shipped_entry_is_good_and_names_a_program() -> None:
    good, bad = checks(shipped())
    assert not bad
    for check in good:
        words = check.command.split()
        assert words[:4] == ["python3", "-S", "-m", words[3]]
        assert words[3] == "onnode.gpu" or check.name == words[4]
    names = {check.name for check in good}
    assert names == {*program.MODULES, "gpu_health_check"}


@pytest.mark.parametrize(
    ("context", "platforms", "names"),
    [
        ("prolog", {"CPU"}, ["boot_disk_full", "alloc_mem_used", "job_tmpfs_recreate"]),
        ("epilog", {"CPU"}, ["job_tmpfs_delete", "cleanup_enroot", "drop_posix_shmem", "drop_page_cache"]),
        ("hc_program", {"CPU"}, ["boot_disk_full", "alloc_mem_used", "job_tmpfs_delete_leftover"]),
        (
            "hc_program",
            {"GPU"},
            [
                *("boot_disk_full", "alloc_mem_used", "alloc_gpus_busy"),
                *("gpu_health_check", "job_tmpfs_delete_leftover"),
            ],
        ),
    ],
)
def test_each_place_has_its_checks(context: str, platforms: set[str], names: list[str]) -> None:
    scene = Scene(context, frozenset(platforms), frozenset({"IDLE"}), {})
    assert [check.name for check in checks(shipped())[0] if applies(check, scene)] == names


def test_a_disk_is_full_above_its_percentage(tmp_path: Path) -> None:
    assert boot_disk_full({}, "100", str(tmp_path)) == ""
    assert boot_disk_full({}, "0", str(tmp_path)).startswith(f"{tmp_path} is ")


def test_what_cannot_be_found_out_is_nobodys_fault(capfd: pytest.CaptureFixture[str]) -> None:
    assert program.main(["boot_disk_full", "80", "/does/not/exist"]) == UNKNOWN
    assert program.main(["no_such_check"]) == UNKNOWN
    assert program.main([]) == UNKNOWN
    assert "No such file" in capfd.readouterr().err


def test_nothing_follows_from_a_check_that_does_not_know() -> None:
    [check] = checks([{"name": "a", "command": f"exit {UNKNOWN}", "on_fail": "drain"}])[0]
    assert run(check, os.environ, "/nowhere") is None


@pytest.mark.usefixtures("slurm")
def test_a_jobs_memory_must_be_free(tmp_path: Path) -> None:
    """The job of the fixture has 4 GB on two nodes."""
    assert memory.alloc_mem_used(JOB, "95", machine(tmp_path, 1946)) == ""
    words = memory.alloc_mem_used(JOB, "95", machine(tmp_path / "small", 1900))
    assert words == "1900 MB of memory are free, 2048 MB are promised"


def test_an_idle_nodes_memory_must_be_free_unless_a_job_has_just_come(slurm: Path, tmp_path: Path) -> None:
    root, here = machine(tmp_path / "m", 5000), {"CHECKS_NODE": "n0", "CHECKS_NODE_STATE": "IDLE"}
    assert memory.alloc_mem_used(here, "95", root) == ""
    (slurm / "squeue").write_text("")
    assert memory.alloc_mem_used(here, "95", root) == "5000 MB of memory are free, 8000 MB are promised"
    (slurm / "squeue").write_text("7 1000\n")
    assert memory.alloc_mem_used({**here, "CHECKS_NODE_STATE": "DRAIN+IDLE"}, "95", root)


def test_a_containers_limit_counts_and_its_cache_does_not(tmp_path: Path) -> None:
    told = {"max": f"{1000 << 20}", "current": f"{800 << 20}"}
    stat = f"anon 1\nfile {500 << 20}\nshmem {100 << 20}\n"
    assert memory.available(machine(tmp_path, 9000, **told, stat=stat)) == 600
    assert memory.available(machine(tmp_path / "free", 9000, max="max\n")) == 9000


def test_each_gpu_tells_dcgm_its_job_until_that_ends(tmp_path: Path) -> None:
    folder = tmp_path / "map"
    gpus.map_job_dcgm(JOB, str(folder))
    gpus.map_job_dcgm({**JOB, "SLURM_JOB_ID": "8", "SLURM_JOB_GPUS": "3"}, str(folder))
    assert {one.name: one.read_text() for one in folder.iterdir()} == {"0": "7\n", "3": "7\n8\n"}
    gpus.unmap_job_dcgm(JOB, str(folder))
    assert {one.name: one.read_text() for one in folder.iterdir()} == {"3": "8\n"}
    gpus.unmap_job_dcgm(JOB, str(folder))


def test_shared_memory_goes_with_its_users_last_job(slurm: Path, tmp_path: Path) -> None:
    shm, owner = tmp_path / "shm", os.getuid() or 1000
    (shm / "folder").mkdir(parents=True)
    (shm / "folder/file").write_text("x")
    os.chown(shm / "folder", owner, -1)
    job = {**JOB, "SLURM_JOB_UID": str(owner)}
    (slurm / "squeue").write_text(f"7 {owner}\n8 {owner}\n")
    leftovers.drop_posix_shmem(job, str(shm))
    (slurm / "squeue").write_text(f"7 {owner}\n8 {owner + 1}\n")
    leftovers.drop_posix_shmem({**job, "SLURM_JOB_UID": "0"}, str(shm))
    leftovers.drop_posix_shmem({**job, "SLURM_JOB_UID": str(owner + 1)}, str(shm))
    assert (shm / "folder/file").exists()
    leftovers.drop_posix_shmem(job, str(shm))
    assert not (shm / "folder").exists()


def test_the_page_cache_is_dropped_by_the_last_job(slurm: Path, tmp_path: Path) -> None:
    (slurm / "squeue").write_text("7 1000\n8 1001\n")
    leftovers.drop_page_cache(JOB, str(tmp_path / "switch"))
    assert not (tmp_path / "switch").exists()
    (slurm / "squeue").write_text("7 1000\n")
    leftovers.drop_page_cache(JOB, str(tmp_path / "switch"))
    assert (tmp_path / "switch").read_text() == "1"


def test_only_the_jobs_own_containers_go(tmp_path: Path) -> None:
    for name in (
        "data/user-1000/pyxis_7.0/etc",
        "data/pyxis_7_web",
        "data/pyxis_77.0",
        "data/user-1000/mine",
    ):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "data/user-1000/7.0.squashfs").write_text("image")
    leftovers.cleanup_enroot(JOB, str(tmp_path / "data"), str(tmp_path / "absent"))
    left = sorted(str(path.relative_to(tmp_path / "data")) for path in (tmp_path / "data").rglob("*"))
    assert left == ["pyxis_77.0", "user-1000", "user-1000/mine"]


def test_without_a_folder_in_memory_or_behind_a_link_nothing_is_mounted(tmp_path: Path) -> None:
    assert tmpfs.job_tmpfs_recreate(JOB, str(tmp_path / "memory")) == ""
    (tmp_path / "memory").symlink_to("/etc")
    assert tmpfs.job_tmpfs_recreate(JOB, str(tmp_path / "memory")) == ""
    assert tmpfs.job_tmpfs_delete(JOB, str(tmp_path / "memory")) == ""


def test_a_log_is_not_written_through_a_link(tmp_path: Path) -> None:
    target = tmp_path / "passwd"
    target.write_text("root")
    (tmp_path / "a.out").symlink_to(target)
    [check] = checks([{"name": "a", "command": "echo evil", "log": "$name.out"}])[0]
    with pytest.raises(OSError, match="by a link"):
        run(check, os.environ, str(tmp_path))
    assert target.read_text() == "root"


def test_a_check_starts_fast() -> None:
    """Less than 60 ms of this process' own time; how busy the machine is says nothing about the program."""
    for words in (["onnode.checks"], ["onnode.passive", "boot_disk_full", "100"]):
        command = [sys.executable, "-S", "-m", *words]
        environment = {"PYTHONPATH": str(ROOT / "src/slurmery")}
        best = min(_seconds(command, environment) for _ in range(3))
        assert best < 0.06


def _seconds(command: list[str], environment: dict[str, str]) -> float:
    before = os.times()
    subprocess.run(command, env=environment, check=True, capture_output=True)
    after = os.times()
    return (after.children_user + after.children_system) - (before.children_user + before.children_system)
