"""A SlurmCluster of the operator's making: all jobs and logins live in one shared root file system, and what
they do is seen by accounting, REST and metrics."""

import json
import subprocess
import urllib.request
import uuid
from pathlib import Path
from typing import Any

from tests.e2e.nebius.lab import Slurm, labelled

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
    space = f"--namespace={slurm.namespace}"
    with slurm.kube.forwarded(f"service/{slurm.name}-login-svc", 22, space) as address:
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


def test_the_exporter_shows_the_nodes_and_jobs_of_this_cluster(slurm: Slurm) -> None:
    job = slurm.run("sbatch", "--parsable", "-J", "shown", "-o", "/dev/null", "--wrap", "sleep 60").strip()
    space = f"--namespace={slurm.namespace}"
    with slurm.kube.forwarded("deployment/slurm-exporter", 8080, space) as address:
        slurm.wait("it shows the job", lambda: f'job_id="{job}"' in asked(f"http://{address}/metrics"))
        metrics = asked(f"http://{address}/metrics")
    with slurm.kube.forwarded("deployment/slurm-exporter", 8081, space) as address:
        own = asked(f"http://{address}/metrics")
    slurm.run("scancel", job)
    shown = {line.split('node_name="')[1].split('"')[0] for line in lines(metrics, "slurm_node_info")}
    assert shown == {"worker-0", "worker-1"}
    assert any('job_name="shown"' in line for line in lines(metrics, "slurm_job_info"))
    assert lines(metrics, "slurm_controller_server_thread_count")
    assert float(lines(own, "slurm_exporter_collection_attempts_total")[0].split()[-1]) > 0


def test_slurmrestd_answers_for_slurmctld_and_for_slurmdbd(slurm: Slurm) -> None:
    slurm.run("srun", "-J", "recorded", "true")
    token = slurm.control("scontrol", "token", "lifespan=600").strip().removeprefix("SLURM_JWT=")

    def answer(path: str) -> Any:
        return json.loads(asked(f"http://{address}{path}", {"X-SLURM-USER-TOKEN": token}))

    with slurm.kube.forwarded(
        f"service/{slurm.name}-rest-svc", 6820, f"--namespace={slurm.namespace}"
    ) as address:
        nodes = answer("/slurm/v0.0.42/nodes/")["nodes"]
        slurm.wait("the job is recorded", lambda: "recorded" in names(answer("/slurmdb/v0.0.42/jobs/")))
    assert {node["name"] for node in nodes} == {"worker-0", "worker-1"}


def test_every_part_of_the_cluster_says_that_it_is_available(slurm: Slurm) -> None:
    status = slurm.get("slurmcluster", slurm.name)["status"]
    said = {each["type"]: each["status"] for each in status["conditions"]}
    assert {kind for kind, value in said.items() if kind.endswith("Available") and value != "True"} == set()
    assert len(said) > 8
    assert (status["readyWorkers"], status["readyLogin"]) == (2, 1)


def test_a_tree_of_switches_is_made_of_node_labels(slurm: Slurm) -> None:
    switches = {"node-0": "leaf-0", "node-1": "leaf-1"}
    with labelled(slurm.kube, {node: {1: leaf, 2: "spine"} for node, leaf in switches.items()}):
        slurm.wait("Slurm knows the switches", lambda: "SwitchName=spine" in slurm.topology())
        told = slurm.run("srun", "-N2", "sh", "-c", "echo $SLURM_TOPOLOGY_ADDR").split()
        hosts = {f"worker-{n}": slurm.host(f"worker-{n}") for n in (0, 1)}
        assert set(told) == {f"spine.{switches[host]}.{worker}" for worker, host in hosts.items()}


def test_a_change_of_the_configuration_reaches_every_slurmd_and_restarts_nothing(slurm: Slurm) -> None:
    pods, restarts = slurm.pods(), slurm.restarts()
    custom = slurm.get("slurmcluster", slurm.name)["spec"]["customSlurmConfig"]
    slurm.patch({"customSlurmConfig": f"{custom}MaxStepCount=4321\nSlurmdDebug=debug3\n"})
    slurm.wait("slurmctld has it", lambda: "4321" in slurm.run("scontrol", "show", "config"))
    slurm.wait("every slurmd has it", lambda: {debug_level(slurm, n) for n in (0, 1)} == {"7"})
    assert sorted(slurm.run("srun", "-N2", "hostname").split()) == ["worker-0", "worker-1"]
    assert (slurm.pods(), slurm.restarts()) == (pods, restarts)


def debug_level(slurm: Slurm, number: int) -> str:
    said = slurm.run("scontrol", "show", "slurmd", pod=f"worker-{number}", container="slurmd")
    lines = (line.partition("=") for line in said.splitlines())
    return next(value.strip() for key, _, value in lines if key.strip() == "Slurmd Debug")


def asked(url: str, headers: dict[str, str] | None = None) -> str:
    request = urllib.request.Request(url, headers=headers or {})
    with urllib.request.urlopen(request, timeout=30) as answer:
        return str(answer.read().decode())


def lines(metrics: str, name: str) -> list[str]:
    return [line for line in metrics.splitlines() if line.startswith((f"{name}{{", f"{name} "))]


def names(jobs: Any) -> set[str]:
    return {each["name"] for each in jobs["jobs"]}
