"""A SlurmCluster of the operator's making: all jobs and logins live in one shared root file system."""

import json
import subprocess
import uuid
from pathlib import Path

from tests.e2e.nebius.lab import NAME, Slurm

VERSION = "/etc/soperator-jail-version"


def test_jobs_on_both_workers_see_the_jail_as_their_root(slurm: Slurm) -> None:
    mark = uuid.uuid4().hex
    slurm.run("sh", "-c", f"echo {mark} >/root/mark")
    seen = slurm.run("srun", "-N2", "sh", "-c", "echo $(hostname) $(cat /root/mark) $(ls /mnt/host | wc -l)")
    assert sorted(seen.splitlines()) == [f"worker-{n} {mark} 0" for n in (0, 1)]


def test_a_volume_inside_the_jail_is_in_its_place(slurm: Slurm) -> None:
    assert slurm.run("srun", "stat", "-f", "-c", "%T", "/mnt/memory").strip() == "tmpfs"


def test_what_one_worker_writes_another_reads(slurm: Slurm) -> None:
    slurm.run("srun", "-w", "worker-0", "sh", "-c", "hostname >/opt/written")
    assert slurm.run("srun", "-w", "worker-1", "cat", "/opt/written").strip() == "worker-0"


def test_a_job_leaves_its_output_in_the_jail_and_its_record_in_accounting(slurm: Slurm) -> None:
    job = slurm.run("sbatch", "--parsable", "-D", "/root", "--wrap", f"cat {VERSION}; srun hostname").strip()
    slurm.wait("the job ends", lambda: "COMPLETED" in slurm.run("sacct", "-nXj", job, "-o", "state"))
    output = slurm.run("cat", f"/root/slurm-{job}.out").split()
    assert output[0] == "debian"
    assert output[-1].startswith("worker-")


def test_a_user_of_the_jail_is_the_same_user_in_jobs(slurm: Slurm) -> None:
    slurm.run("sh", "-c", "echo ada:x:2001:2001::/home/ada:/bin/sh >>/etc/passwd")
    slurm.run("install", "-d", "-o", "2001", "/home/ada")
    as_ada = ("setpriv", "--reuid=2001", "--regid=2001", "--clear-groups")
    words = ("srun", "-N2", "-D", "/home/ada", "sh", "-c", "touch $(hostname); id -un")
    # slurmctld looks users up when it sees them.
    slurm.wait("Slurm knows her", lambda: slurm.run(*as_ada, *words).split() == ["ada", "ada"])
    assert slurm.run("stat", "-c", "%n %U", "/home/ada/worker-1").split()[1] == "ada"


def test_a_job_gets_no_more_memory_than_it_asked_for(slurm: Slurm) -> None:
    hungry = "python3 -c 'print(len(bytearray(200 * 2**20)))'"
    job = slurm.run("sbatch", "--parsable", "--mem=50", "-o", "/dev/null", "--wrap", hungry).strip()
    slurm.wait("it is stopped", lambda: "OUT_OF_ME" in slurm.run("sacct", "-nXj", job, "-o", "state"))


def test_a_job_can_be_started_beside_the_controller(slurm: Slurm) -> None:
    words = ("srun", "test", "-e", VERSION)
    assert slurm.run(*words, pod="controller-0", container="slurmctld") == ""


def test_ssh_leads_into_the_jail_where_jobs_are_started(slurm: Slurm, key: Path) -> None:
    with slurm._kubectl.forwarded(
        f"service/{NAME}-login-svc", 22, f"--namespace={slurm.namespace}"
    ) as address:
        said = subprocess.run(
            [
                *("ssh", "-i", key, "-p", address.rpartition(":")[2], "-o", "BatchMode=yes"),
                *("-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null"),
                *("root@127.0.0.1", f"cut -d' ' -f1 {VERSION}; hostname; srun -N2 hostname"),
            ],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
    lines = said.stdout.split()
    assert [lines[:2], sorted(lines[2:])] == [["debian", "login-0"], ["worker-0", "worker-1"]], said.stderr


def test_the_nodes_of_the_cluster_know_each_other_by_ssh(slurm: Slurm) -> None:
    words = ("ssh", "-o", "StrictHostKeyChecking=no", "worker-1", "hostname")
    assert slurm.run(*words).strip() == "worker-1"


def test_a_change_of_the_configuration_reaches_every_worker(slurm: Slurm) -> None:
    custom = slurm.get("slurmcluster", NAME)["spec"]["customSlurmConfig"]
    patch = {"spec": {"customSlurmConfig": f"{custom}MaxStepCount=4321\n"}}
    slurm.kubectl("patch", "slurmcluster", NAME, "--type=merge", "-p", json.dumps(patch))
    slurm.wait("Slurm has it", lambda: "4321" in slurm.run("scontrol", "show", "config"))
    assert sorted(slurm.run("srun", "-N2", "hostname").split()) == ["worker-0", "worker-1"]
