"""The example of monitoring: the exporter beside a cluster, with a Token for slurmrestd; and other Tokens."""

import json
import urllib.request
from base64 import b64decode
from typing import Any

from dev import example
from dev.kubectl import Kubectl
from dev.target import LOCAL, release
from tests.e2e.slinky.department import Department
from tests.unit.exporter.parsed import Series, of, one, parsed


def test_prometheus_finds_the_nodes_and_jobs_of_the_cluster(department: Department, kubectl: Kubectl) -> None:
    slurm = department.slurm
    slurm.kubectl("apply", "-f", "-", stdin=example.manifest(LOCAL, release(), "03-monitoring/exporter.yaml"))
    slurm.kubectl("rollout", "status", "deployment/exporter", "--timeout=60s")
    job = department.job()

    with kubectl.forwarded("service/exporter", 8080, f"--namespace={slurm.namespace}") as address:

        def page() -> Series:
            with urllib.request.urlopen(f"http://{address}/metrics", timeout=10) as answer:
                return parsed(answer.read().decode())

        def shown() -> bool:
            return any(labels["job_id"] == job for labels, _ in of(page(), "slurm_job_info"))

        slurm.wait("the job is shown", shown)
        series = page()

    assert one(series, "slurm_cluster_nodes_total") == 2
    nodes = {labels["node_name"]: labels["state_base"] for labels, _ in of(series, "slurm_node_info")}
    assert nodes == {"workers-0": "IDLE", "workers-1": "IDLE"}


def test_a_token_opens_the_rest_api_for_its_user_alone(department: Department, kubectl: Kubectl) -> None:
    slurm = department.slurm
    token = {
        "apiVersion": "slinky.slurm.net/v1beta1",
        "kind": "Token",
        "metadata": {"name": "portal"},
        "spec": {"username": "www-data", "jwtKeyRef": {"name": "slurm-keys", "key": "jwt.key"}},
    }
    slurm.kubectl("apply", "-f", "-", stdin=json.dumps(token))
    slurm.wait("it is issued", lambda: department.ready("token", "portal"))
    jwt = b64decode(
        slurm.kubectl("get", "secret", "portal-jwt-www-data", "-o", "jsonpath={.data.SLURM_JWT}")
    ).decode()

    with kubectl.forwarded("service/slurm-restapi", 6820, f"--namespace={slurm.namespace}") as address:

        def ask(path: str, body: dict[str, Any] | None = None, token: str = jwt) -> tuple[int, Any]:
            request = urllib.request.Request(
                f"http://{address}/slurm/v0.0.44/{path}",
                data=json.dumps(body).encode() if body else None,
                headers={"X-SLURM-USER-TOKEN": token, "Content-Type": "application/json"},
            )
            try:
                with urllib.request.urlopen(request, timeout=10) as answer:
                    return answer.status, json.load(answer)
            except urllib.error.HTTPError as error:
                return error.code, json.load(error)

        _, answer = ask("nodes/")
        assert {node["name"] for node in answer["nodes"]} == {"workers-0", "workers-1"}
        job = {
            "name": "portal",
            "current_working_directory": "/tmp",
            "environment": ["PATH=/usr/bin:/bin"],
            "standard_output": "/dev/null",
        }
        _, submitted = ask("job/submit", {"script": "#!/bin/sh\nid -un\n", "job": job})
        number = str(submitted["job_id"])
        status, _ = ask("node/workers-0", {"state": ["DRAIN"], "reason": "mischief"})
        assert status != 200
        status, _ = ask("nodes/", token=f"{jwt[:-4]}AAAA")
        assert status != 200

    slurm.wait("its job is recorded", lambda: department.recorded(number))
    assert slurm.run("sacct", "-n", "-X", "-P", "-j", number, "-o", "User").strip() == "www-data"
    assert slurm.states()["workers-0"] == "idle"
