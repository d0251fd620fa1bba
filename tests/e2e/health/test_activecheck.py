"""From a check that fails to the node's return: both halves of the program, with a real Slurm."""

from slurmery.health.active.reconcile import ACTIVE_CHECKS
from slurmery.health.repair import policy as names
from slurmery.kube.meta import Key
from tests.controlplane.health import active
from tests.controlplane.health.stage import CLUSTER, Checks, Stage
from tests.e2e.health.lab import Lab

SCRIPT = """\
#!/bin/sh
#SBATCH -p all -D /tmp -o /dev/null -e /dev/null --time=5
test $SLURMD_NODENAME != worker-0
"""


async def test_a_node_that_failed_its_check_is_given_back_when_it_was_replaced_and_no_other(
    stage: Stage[Lab], checks: Checks, lab: Lab
) -> None:
    await stage.node(0, workers=2)
    await active.phase(stage.client, Key(stage.namespace, CLUSTER), "Available")
    check = {
        "apiVersion": ACTIVE_CHECKS.api_version,
        "kind": ACTIVE_CHECKS.kind,
        "metadata": {"name": "diag", "namespace": stage.namespace},
        "spec": {
            "name": "diag",
            "slurmClusterRefName": CLUSTER,
            "checkType": "slurmJob",
            "slurmJobSpec": {"sbatchScript": SCRIPT, "eachWorkerJobs": True},
            "reactions": {"setCondition": True, "drainSlurmNode": True},
        },
    }
    await stage.client.create(ACTIVE_CHECKS, check)
    async with active.checks(stage.plane, stage.namespace, lab.url, user="slurm"):
        await active.run_becomes(stage.client, Key(stage.namespace, "diag"), "Failed")
    assert lab.reason("worker-0").startswith("[node_problem] Failed diag: job ")
    await stage.says(0, names.HARDWARE, "True", "failedDiag")
    await stage.says(0, names.MAINTENANCE, "True", names.DRAINING)
    lab.drain("worker-01", "bad fan, ana")

    await stage.evict("worker-0", "worker-01")
    await stage.say(0, names.DRAIN, "True", names.DRAINED)
    await stage.gone(0)
    await stage.node(1, workers=0)
    await stage.worker("worker-0", stage.host(1))
    await stage.worker("worker-01", stage.host(1))
    await stage.undrained("worker-0")
    assert "bad fan, ana" in lab.reason("worker-01")
