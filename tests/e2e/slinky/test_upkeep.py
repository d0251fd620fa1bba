"""What the operator keeps in order in a real Slurm: records of nodes, maintenance."""

import json
from datetime import UTC, datetime, timedelta

from tests.e2e.slinky.lab import Slurm


def record(slurm: Slurm, name: str) -> str:
    return slurm.run("scontrol", "--oneliner", "show", "node", name)


def test_slurm_knows_which_pod_a_node_is_and_what_its_kubernetes_node_offers(slurm: Slurm) -> None:
    host = slurm.workers()["workers-0"]["spec"]["nodeName"]
    slurm.kubectl("annotate", "node", host, "features.slinky.slurm.net/spec=ib,fast")
    try:
        slurm.wait("the features", lambda: "k8s/fast,k8s/ib" in record(slurm, "workers-0"))
        assert f'"podName":"workers-0","node":"{host}"' in record(slurm, "workers-0")
    finally:
        slurm.kubectl("annotate", "node", host, "features.slinky.slurm.net/spec-")
    slurm.wait("they are gone", lambda: "k8s/" not in record(slurm, "workers-0"))


def test_a_scheduled_update_waits_for_its_reservation(slurm: Slurm) -> None:
    before = slurm.workers()
    start = datetime.now(UTC) + timedelta(seconds=25)
    window = {"startTime": start.strftime("%Y-%m-%dT%H:%M:%SZ"), "duration": "10m"}
    strategy = {"type": "ScheduledUpdate", "scheduledUpdate": window}
    patch = {"spec": {"updateStrategy": strategy, "extraConf": "Weight=7"}}
    slurm.kubectl("patch", "nodeset", "workers", "--type=merge", f"--patch={json.dumps(patch)}")
    try:
        slurm.wait("the reservation", lambda: "Nodes=workers-[0-1]" in slurm.run("scontrol", "show", "res"))
        if datetime.now(UTC) < start - timedelta(seconds=5):
            assert {name: pod["metadata"]["uid"] for name, pod in slurm.workers().items()} == {
                name: pod["metadata"]["uid"] for name, pod in before.items()
            }

        def replaced() -> bool:
            now = slurm.workers()
            return len(now) == 2 and all(
                pod["metadata"]["uid"] != before[name]["metadata"]["uid"] for name, pod in now.items()
            )

        slurm.wait("both are new", replaced)
        assert datetime.now(UTC) > start
    finally:
        patch = {"spec": {"updateStrategy": {"type": "RollingUpdate"}}}
        slurm.kubectl("patch", "nodeset", "workers", "--type=merge", f"--patch={json.dumps(patch)}")
    slurm.wait("it is gone", lambda: "No reservations" in slurm.run("scontrol", "show", "res"))
    slurm.wait("both are idle", slurm.settled)
