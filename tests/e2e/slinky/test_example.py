"""The example of Slinky's API, made by the operator in its own image, with real Slurm and real jobs."""

import time

from tests.e2e.slinky.lab import Slurm


def test_jobs_run_on_two_workers_that_are_not_privileged(slurm: Slurm) -> None:
    assert sorted(slurm.run("srun", "-N2", "hostname").split()) == ["workers-0", "workers-1"]
    for pod in slurm.workers().values():
        slurmd = next(c for c in pod["spec"]["containers"] if c["name"] == "slurmd")
        assert slurmd["securityContext"]["privileged"] is False


def test_daemons_reach_each_other_by_name(slurm: Slurm) -> None:
    assert "slurm-controller-0" in slurm.run("scontrol", "ping")
    address = slurm.workers()["workers-1"]["status"]["podIP"]
    assert f"NodeAddr={address}" in slurm.run("scontrol", "show", "node", "workers-1").split()
    found = slurm.kubectl("exec", "workers-0", "-c", "slurmd", "--", "getent", "hosts", "workers-1")
    assert found.split()[0] == address


def test_scale_in_waits_for_the_running_job(slurm: Slurm) -> None:
    job = slurm.hold("workers-1", "workers")
    slurm.kubectl("scale", "nodeset", "workers", "--replicas=1")
    slurm.wait("the worker drains", lambda: slurm.states().get("workers-1") == "draining")
    words = "workers-1: scale-in waits: it has running jobs"
    slurm.wait("it says why it waits", lambda: words in slurm.condition("Progressing"))

    assert "workers-1" in slurm.workers()
    job.completes()
    slurm.wait("the worker is gone", lambda: "workers-1" not in slurm.workers())
    slurm.kubectl("scale", "nodeset", "workers", "--replicas=2")
    slurm.wait("it is back", slurm.settled)


def test_an_admins_drain_is_left_alone(slurm: Slurm) -> None:
    slurm.run("scontrol", "update", "nodename=workers-0", "state=drain", "reason=bad disk")
    slurm.kubectl("annotate", "nodeset", "workers", "example.org/touched=now")
    time.sleep(12)

    assert "bad disk" in slurm.run("sinfo", "-h", "-N", "-n", "workers-0", "-o", "%E")
    slurm.run("scontrol", "update", "nodename=workers-0", "state=resume")
    slurm.wait("it is idle", lambda: slurm.states().get("workers-0") == "idle")


def test_a_killed_worker_comes_back_and_registers(slurm: Slurm) -> None:
    before = slurm.workers()["workers-0"]["metadata"]["uid"]
    slurm.kubectl("delete", "pod", "workers-0", "--grace-period=1")
    slurm.wait(
        "a new pod",
        lambda: slurm.workers().get("workers-0", {"metadata": {"uid": before}})["metadata"]["uid"] != before,
    )
    slurm.wait("it is idle", lambda: slurm.states().get("workers-0") == "idle")
