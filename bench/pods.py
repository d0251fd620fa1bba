"""Realistic slurmd pods, by the thousand, on a control plane without kubelets.

python -m bench.pods KUBECONFIG FIRST LAST
"""

import asyncio
import sys
from pathlib import Path
from typing import Any

from slurmery.kube import config
from slurmery.kube.client import Client
from slurmery.kube.meta import Key, Resource
from slurmery.kube.resources import PODS

NAMESPACE = "slurm"
NODE_SETS = Resource("slinky.slurm.net", "v1beta1", "nodesets", "NodeSet")
PODS_PER_SET = 100
WRITERS = 16


def writer(kubeconfig: str, first: int, last: int) -> list[str]:
    """The command that makes these pods, in a process whose CPU time is not ours."""
    return [sys.executable, "-m", "bench.pods", kubeconfig, str(first), str(last)]


async def make(client: Client, numbers: range) -> None:
    """Create the pods of these numbers and report them ready: two events for each."""
    waiting = iter(numbers)

    async def write() -> None:
        for number in waiting:
            await client.create(PODS, manifest(number))
            await client.patch(
                PODS, Key(NAMESPACE, name(number)), {"status": status(number)}, subresource="status"
            )

    await asyncio.gather(*(write() for _ in range(WRITERS)))


def name(number: int) -> str:
    """The name of a pod: that of its owner, and its place there."""
    return f"gpu-{number // PODS_PER_SET}-{number % PODS_PER_SET}"


def owner_uid(owner: str) -> str:
    """The uid of the NodeSet by this name; nobody looks for the object itself."""
    return f"00000000-0000-4000-8000-{int(owner.removeprefix('gpu-')):012}"


def manifest(number: int) -> dict[str, Any]:
    """A pod as the operator makes it."""
    owner = f"gpu-{number // PODS_PER_SET}"
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name(number),
            "namespace": NAMESPACE,
            "labels": {
                "app.kubernetes.io/component": "worker",
                "app.kubernetes.io/instance": owner,
                "app.kubernetes.io/managed-by": "slurm-operator",
                "app.kubernetes.io/name": "slurmd",
                "app.kubernetes.io/part-of": "slurm",
                "controller-revision-hash": f"{owner}-7f9c5d8b6",
                "slinky.slurm.net/pod-index": str(number % PODS_PER_SET),
                "slinky.slurm.net/pod-name": name(number),
            },
            "annotations": {
                "kubectl.kubernetes.io/default-container": "slurmd",
                "slinky.slurm.net/topology-line": f"default:s{number % 40}",
                "cluster-autoscaler.kubernetes.io/safe-to-evict": "false",
            },
            "ownerReferences": [
                {
                    "apiVersion": NODE_SETS.api_version,
                    "kind": NODE_SETS.kind,
                    "name": owner,
                    "uid": owner_uid(owner),
                    "controller": True,
                    "blockOwnerDeletion": True,
                }
            ],
        },
        "spec": spec(number),
    }


def spec(number: int) -> dict[str, Any]:
    """slurmd with its log sidecar, bound to a node."""
    probe = {"exec": {"command": ["scontrol", "show", "slurmd"]}, "periodSeconds": 10, "failureThreshold": 6}
    slurmd = {
        "name": "slurmd",
        "image": "ghcr.io/slinkyproject/slurmd:25.11-ubuntu24.04",
        "args": ["-Z", f"--conf-server=slurm-controller.{NAMESPACE}:6817", "--conf", "Features=gpu,h200"],
        "env": [
            {"name": "POD_NAME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
            {"name": "POD_TOPOLOGY", "value": f"default:s{number % 40}"},
            {"name": "NVIDIA_VISIBLE_DEVICES", "value": "all"},
        ],
        "ports": [{"name": "slurmd", "containerPort": 6818}],
        "resources": {
            "requests": {"cpu": "120", "memory": "1500Gi", "nvidia.com/gpu": 8},
            "limits": {"memory": "1500Gi", "nvidia.com/gpu": 8},
        },
        "securityContext": {"privileged": True, "capabilities": {"add": ["BPF", "NET_ADMIN", "SYS_ADMIN"]}},
        "startupProbe": probe,
        "readinessProbe": probe,
        "lifecycle": {"preStop": {"exec": {"command": ["scontrol", "update", "State=DOWN"]}}},
        "volumeMounts": [
            {"name": "slurm-config", "mountPath": "/etc/slurm"},
            {"name": "slurm-logs", "mountPath": "/var/log/slurm"},
            {"name": "jail", "mountPath": "/mnt/jail"},
        ],
    }
    logfile = {
        "name": "logfile",
        "image": "docker.io/library/alpine:latest",
        "command": ["sh", "-c", "mkfifo -m 666 /var/log/slurm/slurmd.log; cat /var/log/slurm/slurmd.log"],
        "restartPolicy": "Always",
        "volumeMounts": [{"name": "slurm-logs", "mountPath": "/var/log/slurm"}],
    }
    projection = {"sources": [{"secret": {"name": "slurm-auth-slurm"}}], "defaultMode": 384}
    return {
        "hostname": name(number),
        "nodeName": f"node-{number}",
        "initContainers": [logfile],
        "containers": [slurmd],
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}],
        "volumes": [
            {"name": "slurm-config", "projected": projection},
            {"name": "slurm-logs", "emptyDir": {"medium": "Memory"}},
            {"name": "jail", "persistentVolumeClaim": {"claimName": "jail"}},
        ],
    }


def status(number: int) -> dict[str, Any]:
    """What a kubelet reports of a pod that runs."""
    now = "2026-11-15T10:00:00Z"
    kinds = ("PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled")
    address = f"10.{number >> 16}.{number >> 8 & 255}.{number & 255}"
    image = "ghcr.io/slinkyproject/slurmd"
    running = {
        "ready": True,
        "started": True,
        "restartCount": 0,
        "state": {"running": {"startedAt": now}},
        "containerID": f"containerd://{number:064x}",
        "image": f"{image}:25.11-ubuntu24.04",
        "imageID": f"{image}@sha256:{number:064x}",
    }
    return {
        "phase": "Running",
        "conditions": [
            {"type": kind, "status": "True", "lastProbeTime": None, "lastTransitionTime": now}
            for kind in kinds
        ],
        "podIP": address,
        "podIPs": [{"ip": address}],
        "hostIP": address,
        "startTime": now,
        "containerStatuses": [{"name": "slurmd", **running}],
        "initContainerStatuses": [{"name": "logfile", **running}],
    }


async def main(kubeconfig: str, first: str, last: str) -> None:
    async with Client(config.load(Path(kubeconfig))) as client:
        await make(client, range(int(first), int(last)))


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
