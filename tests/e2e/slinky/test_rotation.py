"""New keys for a cluster that works."""

import secrets
import time

from dev.kubectl import Kubectl
from tests.e2e.slinky.lab import Slurm, example, manifest, slurm_cluster


def test_a_new_key_waits_for_the_running_job_and_then_all_daemons_share_it(installed: Kubectl) -> None:
    with slurm_cluster(installed, "rotation", manifest(*example())) as slurm:
        slurm.wait("two idle workers", slurm.settled)
        slurmctld, before = slurm.get("pod", "slurm-controller-0"), slurm.workers()
        old = digest(slurm)
        job = slurm.hold("workers-0", "workers")
        slurm.set_key("slurm.key", secrets.token_bytes(1024))
        path = "there are jobs on workers-0"
        slurm.wait("it waits", lambda: path in slurm.condition("Progressing", "slurm", "controller"))

        # Kubernetes has brought the new key to the worker, and slurmd still works with the old one.
        slurm.wait("the new key is there", lambda: digest(slurm) != old)
        slurm.wait("slurmctld reaches it", lambda: "mixed" in slurm.states()["workers-0"])
        assert uid(slurm.get("pod", "slurm-controller-0")) == uid(slurmctld)
        assert job.state() == "RUNNING"
        job.completes()

        slurm.wait("the workers are new", lambda: renewed(slurm, before))
        slurm.wait("two idle workers again", slurm.settled)
        assert uid(slurm.get("pod", "slurm-controller-0")) != uid(slurmctld)
        assert sorted(slurm.run("srun", "-N2", "hostname").split()) == ["workers-0", "workers-1"]


def digest(slurm: Slurm) -> str:
    # A kubelet looks at the Secrets of a pod when something about it changes, or once a minute.
    slurm.kubectl("annotate", "pod", "workers-0", "--overwrite", f"example.org/looked={time.monotonic()}")
    return slurm.kubectl("exec", "workers-0", "-c", "slurmd", "--", "sha256sum", "/etc/slurm/slurm.key")


def renewed(slurm: Slurm, before: dict[str, dict[str, object]]) -> bool:
    now = slurm.workers()
    return all(name in now and uid(now[name]) != uid(pod) for name, pod in before.items())


def uid(pod: dict[str, object]) -> object:
    metadata = pod["metadata"]
    assert isinstance(metadata, dict)
    return metadata["uid"]
