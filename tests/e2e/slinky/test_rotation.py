"""New keys for a cluster that works."""

from dev import example
from dev.kubectl import Kubectl
from dev.refusal import Refusal
from dev.target import LOCAL, release
from tests.e2e.slinky.lab import Slurm, slurm_cluster


def uid(slurm: Slurm, pod: str) -> str:
    return slurm.kubectl("get", "pod", pod, "-o", "jsonpath={.metadata.uid}")


def gone_or_new(slurm: Slurm, pod: str, before: str) -> bool:
    try:
        return uid(slurm, pod) != before
    except Refusal:
        return True


def test_a_new_key_waits_for_the_running_job_and_then_all_daemons_share_it(installed: Kubectl) -> None:
    manifest = example.manifest(LOCAL, release())
    with slurm_cluster(installed, "rotation", manifest) as slurm:
        slurm.wait("two idle workers", slurm.settled)
        slurmctld, workers = uid(slurm, "slurm-controller-0"), slurm.workers()
        job = slurm.run("sbatch", "--parsable", "-o", "/dev/null", "--wrap", "sleep 20").strip()
        slurm.wait("the job runs", lambda: "RUNNING" in slurm.run("squeue", "-h", "-j", job, "-o", "%T"))
        slurm.make_keys()
        path = "jsonpath={.status.conditions[?(@.type=='Progressing')].message}"
        slurm.wait(
            "it says what it waits for",
            lambda: "there are jobs on workers-" in slurm.kubectl("get", "controller", "slurm", "-o", path),
        )
        assert uid(slurm, "slurm-controller-0") == slurmctld
        slurm.wait("the job ends", lambda: "COMPLETED" in slurm.run("scontrol", "show", "job", job))
        slurm.wait("slurmctld restarts", lambda: gone_or_new(slurm, "slurm-controller-0", slurmctld))
        slurm.wait(
            "the workers are new",
            lambda: all(
                slurm.workers().get(name, pod)["metadata"]["uid"] != pod["metadata"]["uid"]
                for name, pod in workers.items()
            ),
        )
        slurm.wait("two idle workers again", slurm.settled)
        assert sorted(slurm.run("srun", "-N2", "hostname").split()) == ["workers-0", "workers-1"]
