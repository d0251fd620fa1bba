"""From a check that fails to the node's return: the real programs, with a real Slurm."""

from slurmery.health.active.reconcile import ACTIVE_CHECKS
from slurmery.health.repair import policy as names
from slurmery.kube.meta import Key
from tests.controlplane.health import active
from tests.controlplane.health.stage import CLUSTER, Stage
from tests.e2e.health.lab import Lab
from tests.e2e.health.programs import Programs

SCRIPT = """\
#!/bin/sh
#SBATCH -p all -D /tmp -o /dev/null -e /dev/null --time=5
exit 1
"""


async def test_a_node_that_failed_its_check_is_replaced_and_given_back_and_an_admins_is_not(
    stage: Stage[Lab], programs: Programs, lab: Lab
) -> None:
    host = await stage.node(0, workers=2)
    lab.drain("worker-01", "bad fan, ana")
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
    programs.start(host)
    await stage.drained("worker-0", "[node_problem] Failed diag: job ")
    await stage.hears(host, f"{names.HARDWARE} is True")
    await stage.gone(0)

    await stage.node(1, workers=0)
    await stage.worker("worker-0", stage.host(1))
    await stage.worker("worker-01", stage.host(1))
    await stage.undrained("worker-0")
    assert lab.drained("worker-01")
    assert "bad fan, ana" in lab.reason("worker-01")
