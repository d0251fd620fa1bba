"""What Kubernetes nodes say of themselves, and what Slurm keeps of those that are no more.

All clusters share the machines: what is written on them concerns every NodeSet that has workers there.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from dev.kubectl import Kubectl
from tests.e2e.slinky.lab import Slurm

pytestmark = pytest.mark.alone

TOPOLOGY = "topology.slinky.slurm.net/spec"
HOSTNAME = "nodeset.slinky.slurm.net/hostname-override"


@contextmanager
def annotated(kubectl: Kubectl, key: str, **said: str) -> Iterator[None]:
    """Machines that say so, by name, with _ for -."""
    values = {name.replace("_", "-"): value for name, value in said.items()}
    try:
        for node, value in values.items():
            kubectl("annotate", "node", node, f"{key}={value}")
        yield
    finally:
        kubectl("annotate", "node", *values, f"{key}-")


def record(slurm: Slurm, name: str) -> str:
    return slurm.run("scontrol", "--oneliner", "show", "node", name)


def pod_on(slurm: Slurm, machine: str) -> str:
    pods = slurm.workers("machines").items()
    return next(name for name, pod in pods if pod["spec"].get("nodeName") == machine)


def test_slurm_knows_the_place_of_a_machine_and_a_bad_one_harms_its_own_worker_alone(
    shaken: Slurm, kubectl: Kubectl
) -> None:
    slurm = shaken
    with annotated(kubectl, TOPOLOGY, node_0="tree:leaf1", node_1="tree:nowhere"):
        slurm.wait("the good one", lambda: "Topology=tree:leaf1" in record(slurm, "node-0"))
        words = "Slurm could not be told about node-1"
        slurm.wait("the bad one is told", lambda: words in slurm.condition("Degraded", "machines"))
        assert "node-0" not in slurm.condition("Degraded", "machines")
        assert "Topology=" not in record(slurm, "node-1")

        # An update of the NodeSet comes to its end, and both work.
        before = slurm.uids("machines")
        version = {"metadata": {"annotations": {"example.org/version": "2"}}}
        slurm.patch("nodeset", "machines", {"template": version})
        slurm.wait("all are new", lambda: not {*slurm.uids("machines").values()} & {*before.values()})
        slurm.wait("both are ready", lambda: len(slurm.ready("machines")) == 2)
        slurm.wait("both are idle", lambda: slurm.idling() >= {"node-0", "node-1"})
        assert "Topology=tree:leaf1" in record(slurm, "node-0")
        assert sorted(slurm.run("srun", "-p", "machines", "-w", "node-0", "hostname").split()) == ["node-0"]
    slurm.wait("nothing is wrong", lambda: "Nothing" in slurm.condition("Degraded", "machines"))


def test_a_record_whose_pod_is_gone_for_good_is_pruned_but_not_while_a_job_is_on_it(
    shaken: Slurm, kubectl: Kubectl
) -> None:
    slurm = shaken
    pod = pod_on(slurm, "node-1")
    job = slurm.hold("node-1", "machines", pod=pod)
    with annotated(kubectl, HOSTNAME, node_1="renamed"):
        words = "update waits: it has running jobs"
        slurm.wait("it waits for the job", lambda: words in slurm.condition("Progressing", "machines"))
        # As with a machine that dies: nobody tells Slurm of it.
        slurm.kubectl("delete", "pod", pod, "--force", "--grace-period=0")
        slurm.wait("the successor", lambda: slurm.idling() >= {"renamed"})
        assert ("node-1" in slurm.states(), job.state()) == (True, "RUNNING"), slurm.situation()

        slurm.run("scontrol", "update", "nodename=node-1", "state=down", "reason=the machine is gone")
        slurm.wait("its record is pruned", lambda: "node-1" not in slurm.states())
        events = ("get", "events", "--field-selector=reason=DefunctSlurmNodePruned")
        slurm.wait("it is told", lambda: "record of node node-1 was deleted" in slurm.kubectl(*events))
        assert slurm.idling() >= {"node-0", "renamed"}
    slurm.wait("it has its name again", lambda: slurm.idling() >= {"node-0", "node-1"})
