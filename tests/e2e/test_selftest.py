"""Real Slurm in the embedded cluster: what `make demo` shows, asserted."""

import json
from collections.abc import Iterator

import pytest

from dev.cluster import Cluster
from dev.kubectl import Kubectl
from dev.progress import Progress
from dev.selftest import SelfTest
from dev.target import LOCAL, release

NAMESPACE = "selftest"


@pytest.fixture(scope="module")
def slurm(kubectl: Kubectl) -> Iterator[SelfTest]:
    test = SelfTest(kubectl, LOCAL, release(), NAMESPACE)
    test.deploy(print)
    yield test
    test.remove()


@pytest.fixture(scope="module")
def proofs(slurm: SelfTest) -> dict[str, str]:
    return {proof.command.split()[0]: proof.output for proof in slurm.prove()}


def test_srun_uses_two_different_pods(proofs: dict[str, str]) -> None:
    assert sorted(proofs["srun"].split()) == ["slurmd-0", "slurmd-1"]


def test_a_batch_job_is_accounted(proofs: dict[str, str]) -> None:
    job = proofs["sbatch"].split()[0]

    (line,) = [line.split() for line in proofs["sacct"].splitlines() if line.split()[0] == job]
    assert line[3] == "COMPLETED"


def test_the_rest_api_takes_a_token(proofs: dict[str, str]) -> None:
    assert proofs["curl"] == "slurmctld-0: UP"


def test_workers_sit_on_different_nodes(kubectl: Kubectl, slurm: SelfTest) -> None:
    pods = json.loads(
        kubectl(f"--namespace={NAMESPACE}", "get", "pods", "-l", "component=slurmd", "-o", "json")
    )

    assert {pod["spec"]["nodeName"] for pod in pods["items"]} == {"node-0", "node-1"}


def test_applying_it_again_restarts_nothing(kubectl: Kubectl, slurm: SelfTest) -> None:
    def pods() -> dict[str, str]:
        listed = json.loads(kubectl(f"--namespace={NAMESPACE}", "get", "pods", "-o", "json"))["items"]
        return {pod["metadata"]["name"]: pod["metadata"]["uid"] for pod in listed}

    before = pods()
    slurm.deploy(print)

    assert pods() == before


@pytest.mark.alone
def test_a_worker_moved_to_the_other_node_registers_again(kubectl: Kubectl, slurm: SelfTest) -> None:
    in_namespace = f"--namespace={NAMESPACE}"
    pod = json.loads(kubectl(in_namespace, "get", "pod", "slurmd-0", "-o", "json"))
    home = pod["spec"]["nodeName"]
    kubectl("cordon", home)
    try:
        kubectl(in_namespace, "delete", "pod", "slurmd-0")
        slurm.deploy(print)
        moved = json.loads(kubectl(in_namespace, "get", "pod", "slurmd-0", "-o", "json"))
        ran = kubectl(in_namespace, "exec", "slurmctld-0", "--", "srun", "-N2", "hostname")
    finally:
        kubectl("uncordon", home)

    assert moved["spec"]["nodeName"] != home
    assert sorted(ran.split()) == ["slurmd-0", "slurmd-1"]


def test_the_older_slurm_works_too(cluster: Cluster) -> None:
    cluster.up("24.11", Progress())
    test = SelfTest(cluster.kubectl, LOCAL, "24.11", "selftest-24-11")
    try:
        test.deploy(print)
        proofs = {proof.command.split()[0]: proof.output for proof in test.prove()}
    finally:
        test.remove()

    assert sorted(proofs["srun"].split()) == ["slurmd-0", "slurmd-1"]
