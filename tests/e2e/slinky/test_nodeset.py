"""What NodeSets can do, each on a NodeSet of its own in one cluster: `features.yaml`."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dev.kubectl import Kubectl
from tests.e2e.slinky.lab import Slurm, slurm_cluster
from tests.e2e.slinky.laptop import Laptop

WORKERS = ("gpu-0", "disk-000", "disk-001", "open-0")
GPUS = "/status/capacity/nvidia.com~1gpu"
DAEMON_LABEL = "slurmery.test/daemon"


@pytest.fixture(scope="module")
def laptop() -> Laptop:
    return Laptop.new()


@pytest.fixture(scope="module")
def slurm(installed: Kubectl, laptop: Laptop) -> Iterator[Slurm]:
    keys = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "keys"},
        "data": {"authorized_keys": laptop.public},
    }
    features = Path(__file__).with_name("features.yaml").read_text()
    manifest = "\n---\n".join([json.dumps(keys), laptop.manifest, features])
    _patch_machines(installed, [{"op": "add", "path": GPUS, "value": "2"}])
    try:
        with slurm_cluster(installed, "features", manifest) as slurm:
            slurm.wait("all workers are idle", lambda: slurm.idling() >= set(WORKERS))
            laptop.arrive(slurm)
            yield slurm
    finally:
        _patch_machines(installed, [{"op": "remove", "path": GPUS}])
        installed("label", "nodes", "--all", f"{DAEMON_LABEL}-")


def _patch_machines(kubectl: Kubectl, patch: list[dict[str, str]]) -> None:
    """Kubernetes counts what nobody's device plugin brought, if its nodes say that they have it."""
    for node in kubectl("get", "nodes", "-o", "name").split():
        kubectl("patch", node, "--subresource=status", "--type=json", "-p", json.dumps(patch))


def _nodeset(slurm: Slurm, name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(slurm.kubectl("get", "nodeset", name, "-o", "json"))
    return found


def _condition(slurm: Slurm, name: str, kind: str) -> str:
    conditions = _nodeset(slurm, name)["status"]["conditions"]
    return str(next(each["message"] for each in conditions if each["type"] == kind))


def _patch(slurm: Slurm, name: str, spec: dict[str, Any]) -> None:
    slurm.kubectl("patch", "nodeset", name, "--type=merge", "-p", json.dumps({"spec": spec}))


def _uids(slurm: Slurm, prefix: str) -> dict[str, str]:
    return {
        name: pod["metadata"]["uid"] for name, pod in slurm.workers().items() if name.startswith(f"{prefix}-")
    }


def _exec(slurm: Slurm, pod: str, *command: str) -> str:
    return slurm.kubectl("exec", pod, "-c", "slurmd", "--", *command)


def test_a_job_sees_the_gpu_that_it_was_given(slurm: Slurm) -> None:
    seen = 'echo "$CUDA_VISIBLE_DEVICES" && test -c "/opt/devices/nvidia$CUDA_VISIBLE_DEVICES"'

    assert "gpu:2" in slurm.run("scontrol", "show", "node", "gpu-0")
    assert slurm.run("srun", "-p", "gpu", "--gres=gpu:1", "sh", "-c", seen).strip() == "0"
    assert _condition(slurm, "gpu", "Degraded") == "Nothing is known to be wrong."


def test_a_disagreement_about_gpus_is_told_and_on_delete_changes_no_pod(slurm: Slurm) -> None:
    before = _uids(slurm, "gpu")
    _patch(slurm, "gpu", {"extraConf": "Gres=gpu:4"})
    words = "GRES: extraConf says Gres=gpu:4, but the pods' limits give them 2 GPUs."
    slurm.wait("it is told", lambda: words in _condition(slurm, "gpu", "Degraded"))

    slurm.wait("the pod is old", lambda: _nodeset(slurm, "gpu")["status"].get("updatedReplicas", 0) == 0)
    assert _uids(slurm, "gpu") == before
    _patch(slurm, "gpu", {"extraConf": "Gres=gpu:2 Weight=7"})
    slurm.kubectl("delete", "pod", "gpu-0", "--grace-period=1")
    slurm.wait("its successor is new", lambda: _nodeset(slurm, "gpu")["status"].get("updatedReplicas") == 1)
    slurm.wait("all agree", lambda: _condition(slurm, "gpu", "Degraded") == "Nothing is known to be wrong.")
    slurm.wait("it works", lambda: "gpu-0" in slurm.idling())


def test_partitions_are_as_the_nodesets_say(slurm: Slurm) -> None:
    said = slurm.run("sinfo", "-h", "-p", "disk,gpu,open", "-o", "%R %l %N")

    assert sorted(said.splitlines()) == [
        "disk infinite disk-[000-001]",
        "gpu 1:00:00 gpu-0",
        "open infinite open-0",
    ]


def test_what_slurm_says_of_a_node_is_on_its_pod(slurm: Slurm) -> None:
    def said() -> set[str]:
        conditions = slurm.workers()["disk-000"]["status"]["conditions"]
        return {each["type"] for each in conditions if each["type"].startswith("SlurmNodeState")}

    slurm.wait("idle", lambda: said() == {"SlurmNodeStateIdle"})
    submit = (
        "sbatch",
        "--parsable",
        "-w",
        "disk-000",
        "--exclusive",
        "-o",
        "/dev/null",
        "--wrap",
        "sleep 3600",
    )
    job = slurm.run(*submit).strip()
    slurm.wait("allocated", lambda: said() == {"SlurmNodeStateAllocated"})
    slurm.run("scancel", job)
    slurm.wait("idle again", lambda: said() == {"SlurmNodeStateIdle"})


def test_data_outlive_an_update_and_the_way_back(slurm: Slurm) -> None:
    for name in ("disk-000", "disk-001"):
        _exec(slurm, name, "sh", "-c", f"echo {name} >/scratch/owner")
    first = _nodeset(slurm, "disk")["status"]["nodeSetHash"]

    def roll(image: str) -> None:
        before = _uids(slurm, "disk")
        _patch(slurm, "disk", {"template": {"metadata": {"annotations": {"example.org/image": image}}}})
        slurm.wait("new pods", lambda: not set(_uids(slurm, "disk").values()) & set(before.values()))
        slurm.wait("they work", lambda: slurm.idling() >= {"disk-000", "disk-001"})

    def history() -> list[str]:
        selector = "app.kubernetes.io/instance=disk"
        listed = slurm.kubectl("get", "controllerrevisions", "-l", selector, "-o", "json")
        revisions = sorted(json.loads(listed)["items"], key=lambda each: int(each["revision"]))
        return [each["metadata"]["name"].removeprefix("disk-") for each in revisions]

    roll("other")
    second = _nodeset(slurm, "disk")["status"]["nodeSetHash"]
    assert history() == [first, second]
    assert _exec(slurm, "disk-001", "cat", "/scratch/owner").strip() == "disk-001"

    _patch(slurm, "disk", {"template": {"metadata": {"annotations": {"example.org/image": None}}}})
    slurm.wait("the first is the newest again", lambda: history() == [second, first])
    slurm.wait("its pods are back", lambda: _nodeset(slurm, "disk")["status"].get("updatedReplicas") == 2)
    assert _nodeset(slurm, "disk")["status"]["nodeSetHash"] == first


def test_data_outlive_a_scale_in(slurm: Slurm) -> None:
    slurm.wait("two workers", lambda: slurm.idling() >= {"disk-000", "disk-001"})
    _exec(slurm, "disk-001", "sh", "-c", "echo kept >/scratch/kept")
    slurm.kubectl("scale", "nodeset", "disk", "--replicas=1")
    slurm.wait("one worker", lambda: set(_uids(slurm, "disk")) == {"disk-000"})

    assert "scratch-disk-001" in slurm.kubectl("get", "pvc", "-o", "name")
    slurm.kubectl("scale", "nodeset", "disk", "--replicas=2")
    slurm.wait("two again", lambda: _exec(slurm, "disk-001", "cat", "/scratch/kept").strip() == "kept")


def test_daemon_workers_follow_the_machines(slurm: Slurm, kubectl: Kubectl) -> None:
    assert _uids(slurm, "daemon") == {}
    kubectl("label", "node", "node-0", f"{DAEMON_LABEL}=yes")
    slurm.wait("a worker named like its machine", lambda: "node-0" in slurm.idling())
    kubectl("label", "node", "node-1", f"{DAEMON_LABEL}=yes")
    slurm.wait("another one", lambda: {"node-0", "node-1"} <= slurm.idling())
    places = {pod["spec"]["nodeName"] for name, pod in slurm.workers().items() if name.startswith("daemon-")}
    assert places == {"node-0", "node-1"}

    kubectl("label", "node", "node-1", f"{DAEMON_LABEL}-")
    slurm.wait("one worker is left", lambda: len(_uids(slurm, "daemon")) == 1)


def test_only_users_with_a_job_are_let_in(slurm: Slurm, laptop: Laptop) -> None:
    visit = ("sync@open-0.slurm-workers-slurm", "true")
    slurm.wait("a refusal", lambda: "no active jobs on this node" in laptop.ssh(slurm, *visit))

    as_user = ("setpriv", "--reuid=sync", "--regid=games", "--clear-groups")
    submit = ("sbatch", "--parsable", "--chdir=/tmp", "-p", "open", "-o", "/dev/null", "--wrap", "sleep 3600")
    job = _exec(slurm, "open-0", *as_user, *submit).strip()
    # The shell of this user is the program sync, which does not know a shell's options.
    slurm.wait("a welcome", lambda: "sync: invalid option" in laptop.ssh(slurm, *visit))
    slurm.run("scancel", job)
