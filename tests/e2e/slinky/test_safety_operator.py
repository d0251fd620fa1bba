"""What shakes all clusters at once: an operator that is killed again and again, a machine that is emptied."""

import json
import random
import time

import pytest

from dev import operator
from dev.cluster import Cluster
from dev.kubectl import Kubectl
from tests.e2e.slinky.lab import Slurm, signal

pytestmark = pytest.mark.alone

_KILLS = 3


class Operator:
    """The operator's pod that leads."""

    def __init__(self, kubectl: Kubectl, cluster: Cluster) -> None:
        self._slurm = Slurm(kubectl, operator.NAMESPACE)
        self._cluster = cluster

    def kill(self) -> None:
        """By SIGKILL; its pod goes too, so that the next one does not have to wait for its turn."""
        name = self._leader()
        signal(self._cluster, self._slurm.get("pod", name), "SIGKILL")
        self._slurm.kubectl("delete", "pod", name, "--force", "--grace-period=0")
        self._slurm.wait("another one leads", lambda: self._leader() != name)

    def _leader(self) -> str:
        return str(self._slurm.get("lease", "slurm-operator")["spec"]["holderIdentity"]).partition("_")[0]


def test_an_operator_killed_mid_rollout_ends_where_it_would_have_and_no_job_is_lost(
    shaken: Slurm, installed: Kubectl, cluster: Cluster
) -> None:
    slurm, victim = shaken, Operator(installed, cluster)
    jobs = [slurm.hold(node, "workers") for node in ("workers-0", "workers-3")]
    before = slurm.uids("workers")
    version = {"metadata": {"annotations": {"example.org/version": "2"}}}
    slurm.patch("nodeset", "workers", {"template": version, "replicas": 3})
    for _ in range(_KILLS):
        moment = random.uniform(0, 5)
        print(f"the operator is killed after {moment:.2f} s")
        time.sleep(moment)
        victim.kill()
        assert {job.node: slurm.uids()[job.node] for job in jobs} == {
            job.node: before[job.node] for job in jobs
        }
    for job in jobs:
        assert job.alive(), slurm.situation()
        job.completes()

    wanted = ("workers-0", "workers-1", "workers-2")
    slurm.wait(
        "three idle workers", lambda: slurm.idle(*wanted) and set(slurm.uids("workers")) == set(wanted)
    )
    slurm.wait("all of them new", lambda: all(is_new(pod) for pod in slurm.workers("workers").values()))
    assert not set(slurm.uids("workers").values()) & set(before.values())


def is_new(pod: dict[str, dict[str, dict[str, str]]]) -> bool:
    notes = pod["metadata"]["annotations"]
    return notes.get("example.org/version") == "2" and "slurmery/leaving" not in notes


def test_an_eviction_and_a_node_drain_wait_for_the_running_job(shaken: Slurm) -> None:
    slurm = shaken
    job = slurm.hold("evict-0", "evict")
    pod = slurm.workers("evict")["evict-0"]
    label = "nodeset.slinky.slurm.net/pod-protect"
    slurm.wait("it is protected", lambda: label in slurm.workers("evict")["evict-0"]["metadata"]["labels"])

    path = f"/api/v1/namespaces/{slurm.namespace}/pods/evict-0/eviction"
    eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "evict-0"}}
    refused = slurm.attempt("create", "--raw", path, "-f", "-", stdin=json.dumps(eviction))
    assert "Cannot evict pod" in refused.stderr

    drain = ("drain", pod["spec"]["nodeName"], "--delete-emptydir-data", "--force")
    chosen = "--pod-selector=app.kubernetes.io/instance=evict"
    try:
        assert slurm.attempt(*drain, chosen, "--timeout=12s").returncode == 1
        slurm.wait("Slurm starts nothing new there", lambda: slurm.states()["evict-0"] == "draining")
        assert slurm.uids("evict")["evict-0"] == pod["metadata"]["uid"]
        job.completes()
        slurm.kubectl(*drain, chosen, "--timeout=90s")
    finally:
        slurm.kubectl("uncordon", pod["spec"]["nodeName"])
    slurm.wait("a worker is back", lambda: slurm.idle("evict-0"))
