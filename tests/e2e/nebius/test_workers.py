"""Workers of a SlurmCluster with real jobs on them: they go when the jobs are done, and not before."""

from dev.cluster import Cluster
from tests.e2e.nebius.lab import Slurm
from tests.e2e.slinky.lab import renamed

LONG = "sleep 20; touch /root/ended-$SLURM_JOB_ID"


def test_scale_in_lets_the_job_end_and_scale_out_brings_the_worker_back(slurm: Slurm) -> None:
    change(slurm, size=3)
    slurm.wait("a third works", lambda: slurm.states().get("worker-2") == "idle")
    slurm.wait("it is in the tree", lambda: "=worker-[0-2]" in slurm.topology())
    job = submitted(slurm, "worker-1")
    uid = slurm.pods()["worker-1"]
    change(slurm, size=1)
    slurm.wait("the worker is drained", lambda: slurm.states()["worker-1"].startswith("drain"))
    assert slurm.pods()["worker-1"] == uid
    slurm.wait("both workers go", lambda: not {"worker-1", "worker-2"} & slurm.pods().keys())
    assert ended(slurm, job)

    change(slurm, size=2)
    # Slurm keeps the third in mind, as one that is drained.
    slurm.wait("it is back", lambda: {slurm.states()[f"worker-{n}"] for n in (0, 1)} == {"idle"})
    slurm.wait("it is in the tree again", lambda: "=worker-[0-1]" in slurm.topology())


def test_another_image_replaces_workers_one_by_one_and_none_with_a_job(
    slurm: Slurm, cluster: Cluster
) -> None:
    worker = slurm.get("slurmcluster", slurm.name)["spec"]["slurmNodes"]["worker"]
    image = renamed(cluster, worker["slurmd"]["image"])
    job = submitted(slurm, "worker-0")
    before = slurm.pods()
    change(slurm, maxUnavailable=1, slurmd={"image": image})
    slurm.wait(
        "the idle one is replaced", lambda: slurm.pods().get("worker-1") not in {None, before["worker-1"]}
    )
    slurm.wait("the other follows", lambda: slurm.pods().get("worker-0") not in {None, before["worker-0"]})
    assert ended(slurm, job)
    slurm.wait("both work again", lambda: {slurm.states()[f"worker-{n}"] for n in (0, 1)} == {"idle"})


def test_maintenance_waits_for_the_job_and_a_queued_one_runs_afterwards(slurm: Slurm) -> None:
    job = submitted(slurm, "worker-0")
    queued = slurm.run("sbatch", "--parsable", "-d", f"afterok:{job}", "-w", "worker-1", *to_file()).strip()
    slurm.patch({"maintenance": "downscale"})
    slurm.wait("all pods are gone", lambda: not {"worker-0", "controller-0", "login-0"} & set(slurm.pods()))
    slurm.patch({"maintenance": "none"})
    slurm.wait("the cluster is back", lambda: slurm.phase() == "Available")
    slurm.wait("the queued job runs", lambda: ended(slurm, queued))
    assert ended(slurm, job)


def to_file() -> tuple[str, ...]:
    return ("-o", "/dev/null", "--wrap", LONG)


def submitted(slurm: Slurm, worker: str) -> str:
    """A job that runs on a worker."""
    job = slurm.run("sbatch", "--parsable", "-w", worker, *to_file()).strip()
    slurm.wait("the job runs", lambda: slurm.run("squeue", "-hj", job, "-o", "%T").strip() == "RUNNING")
    return job


def ended(slurm: Slurm, job: str) -> bool:
    return slurm.run("sh", "-c", f"ls /root/ended-{job} || true").strip() != ""


def change(slurm: Slurm, **worker: object) -> None:
    slurm.patch({"slurmNodes": {"worker": worker}})
