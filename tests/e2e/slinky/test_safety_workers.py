"""Workers that have to go while jobs run on them: by an update, a deletion, a duplicate.

One cluster, a NodeSet for each story.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from dev.kubectl import Kubectl
from tests.e2e.slinky.lab import (
    FORCE,
    Job,
    Slurm,
    controller,
    example,
    is_ready,
    manifest,
    nodeset,
    slurm_cluster,
)

_ONE_AT_A_TIME = {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 1}}
_LEAVING = "slurmery/leaving"


@pytest.fixture(scope="module")
def slurm(installed: Kubectl) -> Iterator[Slurm]:
    """Four NodeSets whose workers are all idle. Records of ended jobs are forgotten soon."""
    nodesets = [
        nodeset("roll", 3, updateStrategy=_ONE_AT_A_TIME),
        nodeset("admin"),
        nodeset("gone"),
        nodeset("force"),
    ]
    around = example("ConfigMap", "RestApi")
    with slurm_cluster(
        installed, "safety", manifest(*around, controller("MinJobAge=5\n"), *nodesets)
    ) as slurm:
        names = ("roll-0", "roll-1", "roll-2", "admin-0", "gone-0", "force-0")
        slurm.wait("idle workers", lambda: slurm.idle(*names))
        yield slurm


def update(slurm: Slurm, name: str, version: str) -> None:
    """Ask for other pods."""
    slurm.patch(
        "nodeset", name, {"template": {"metadata": {"annotations": {"example.org/version": version}}}}
    )


def version(pod: dict[str, Any]) -> str:
    return str(pod["metadata"]["annotations"].get("example.org/version"))


def draining(slurm: Slurm, jobs: Mapping[str, Job]) -> str:
    states = slurm.states()
    return next((node for node in jobs if states[node] == "draining"), "")


def test_an_update_waits_for_running_jobs_and_takes_one_worker_at_a_time(slurm: Slurm) -> None:
    jobs = {node: slurm.hold(node, "roll") for node in ("roll-0", "roll-1")}
    before = slurm.uids("roll")
    arrived = set(before.values())

    def never_two_away() -> bool:
        """A worker that was ready once and is slow to answer now is nobody's doing."""
        pods = slurm.workers("roll")
        arrived.update(pod["metadata"]["uid"] for pod in pods.values() if is_ready(pod))
        here = [pod["metadata"] for pod in pods.values() if pod["metadata"]["uid"] in arrived]
        staying = [
            each for each in here if not {_LEAVING, "deletionTimestamp"} & {*each, *each["annotations"]}
        ]
        assert len(staying) >= len(before) - 1, slurm.situation()
        return True

    update(slurm, "roll", "2")
    slurm.wait(
        "the idle worker is replaced and a busy one drains",
        lambda: (
            never_two_away()
            and version(slurm.workers("roll")["roll-2"]) == "2"
            and "waits: it has running jobs" in slurm.condition("Progressing", "roll")
        ),
    )
    kept = slurm.uids("roll")
    assert {name: kept[name] for name in jobs} == {name: before[name] for name in jobs}

    for _ in before.keys() - {"roll-2"}:
        slurm.wait("one of the busy drains", lambda: never_two_away() and draining(slurm, jobs) != "")
        jobs.pop(draining(slurm, jobs)).completes()
    slurm.wait(
        "all are new",
        lambda: (
            never_two_away()
            and {version(pod) for pod in slurm.workers("roll").values()} == {"2"}
            and slurm.idle(*before)
        ),
    )


def test_an_admins_drain_outlives_reconciles_an_update_and_the_pods_end(slurm: Slurm) -> None:
    job = slurm.hold("admin-0", "admin")
    before = slurm.uids("admin")
    slurm.run("scontrol", "update", "nodename=admin-0", "state=drain", "reason=bad disk")
    update(slurm, "admin", "2")
    slurm.wait("the update waits", lambda: "running jobs" in slurm.condition("Progressing", "admin"))
    assert (slurm.reason("admin-0"), slurm.uids("admin")) == ("bad disk", before)

    job.completes()
    slurm.wait("a new pod", lambda: slurm.uids("admin").get("admin-0", "") not in ("", before["admin-0"]))
    slurm.wait("it is there again", lambda: slurm.ready("admin") == {"admin-0"})
    slurm.wait("all is said", lambda: "admin" not in slurm.condition("Progressing", "admin"))
    slurm.wait("it is drained", lambda: slurm.states()["admin-0"] == "drained")
    assert slurm.reason("admin-0") == "bad disk"


def test_deleting_a_nodeset_drains_first_and_leaves_partitions_that_jobs_name(slurm: Slurm) -> None:
    ended = slurm.run("sbatch", "--parsable", "-p", "gone", "-o", "/dev/null", "--wrap", "true").strip()
    job = slurm.hold("gone-0", "gone")
    pending = slurm.submit("-p", "gone", "--exclusive")
    before = slurm.uids("gone")

    slurm.kubectl("delete", "nodeset", "gone", "--wait=false")
    words = "gone-0: deletion waits: it has running jobs"
    slurm.wait("it says why it stays", lambda: words in slurm.condition("Progressing", "gone"))
    assert slurm.uids("gone") == before
    job.completes()
    slurm.wait("it is gone", lambda: slurm.attempt("get", "nodeset", "gone").returncode == 1)
    assert not slurm.workers("gone")

    closed = "PartitionName=gone Nodes=gone State=DRAIN"
    config = ("get", "configmap", "slurm-config", "-o", "jsonpath={.data.slurm\\.conf}")
    slurm.wait("the partition is closed", lambda: closed in slurm.kubectl(*config))
    slurm.wait("slurmctld lives by it", lambda: "State=DRAIN" in slurm.run("cat", "/etc/slurm/slurm.conf"))
    slurm.wait(
        "slurmctld knows the job", lambda: "PENDING" in slurm.run("squeue", "-h", "-j", pending, "-o", "%T")
    )
    slurm.run("scancel", pending)
    slurm.wait("no partition without jobs", lambda: "PartitionName=gone" not in slurm.kubectl(*config))
    slurm.wait("slurmctld answers", lambda: "gone" not in slurm.run("sinfo", "-h", "-o", "%R").split())
    assert ended
    ctld = slurm.get("pod", "slurm-controller-0")
    assert [each["restartCount"] for each in ctld["status"]["containerStatuses"]] == [0]


def test_force_deletes_a_nodeset_with_its_jobs(slurm: Slurm) -> None:
    slurm.hold("force-0", "force")
    slurm.kubectl("delete", "nodeset", "force", "--wait=false")
    slurm.wait("it waits", lambda: "it has running jobs" in slurm.condition("Progressing", "force"))
    slurm.kubectl("annotate", "nodeset", "force", f"{FORCE}=true")
    slurm.wait("it is gone", lambda: slurm.attempt("get", "nodeset", "force").returncode == 1)


def test_a_busy_daemon_pod_stays_and_its_idle_duplicate_goes(slurm: Slurm) -> None:
    slurm.apply(nodeset("daemon", scalingMode="DaemonSet"))
    nodes = {"node-0", "node-1"}
    slurm.wait("idle daemon pods", lambda: len(slurm.ready("daemon")) == 2 and slurm.idling() >= nodes)
    pod = next(pod for pod in slurm.workers("daemon").values() if pod["spec"]["nodeName"] == "node-1")
    name = pod["metadata"]["name"]
    job = slurm.hold("node-1", "daemon", pod=name)
    # By every other measure the busy one would be the one to lose.
    slurm.kubectl("annotate", "pod", name, "nodeset.slinky.slurm.net/pod-deletion-cost=-100")

    twin = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": "daemon-twin",
            **{part: pod["metadata"][part] for part in ("labels", "ownerReferences")},
        },
        "spec": {**pod["spec"], "hostname": "twin"},
    }
    slurm.apply(twin)
    slurm.wait("the duplicate goes", lambda: "daemon-twin" not in slurm.uids("daemon"))
    assert slurm.uids("daemon")[name] == pod["metadata"]["uid"]
    job.completes()
