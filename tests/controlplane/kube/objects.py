"""A small cluster to apply, with every trap that manifests hold."""

from typing import Any

from slurmery.kube.apply import Act, Outcome
from slurmery.kube.desired import Desired, Policy
from slurmery.kube.meta import Resource
from slurmery.kube.resources import CONFIG_MAPS, ROLES, SECRETS, SERVICES, STATEFUL_SETS

LABELS = {"app.kubernetes.io/managed-by": "slurm-operator", "app.kubernetes.io/instance": "test"}


def manifest(resource: Resource, name: str, namespace: str, **body: Any) -> dict[str, Any]:
    metadata = {"name": name, "namespace": namespace}
    return {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": metadata, **body}


def statefulset(namespace: str) -> dict[str, Any]:
    container = {
        "name": "slurmd",
        "image": "slurmd:25.11",
        "command": ["/bin/slurmd", "-D"],
        "ports": [{"containerPort": 6818}, {"containerPort": 53, "protocol": "UDP"}],
        "env": [
            {"name": "A", "value": "1"},
            {"name": "POD", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
        ],
        "resources": {"limits": {"cpu": "1000m", "memory": "1024Mi", "nvidia.com/gpu": 8}},
        "securityContext": {},
        "readinessProbe": {"httpGet": {"path": "/", "port": 80}},
        "volumeMounts": [{"name": "spool", "mountPath": "/spool"}],
    }
    pod = {
        "containers": [container],
        "initContainers": [],
        "tolerations": [{"key": "gpu", "operator": "Exists", "tolerationSeconds": 30, "effect": "NoExecute"}],
        "volumes": [
            {"name": "spool", "emptyDir": {}},
            {"name": "conf", "configMap": {"name": "conf", "items": [{"key": "a", "path": "b"}]}},
            {"name": "all", "projected": {"sources": [{"secret": {"name": "munge"}}]}},
        ],
        "affinity": {
            "podAntiAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": [
                    {"labelSelector": {"matchLabels": {"a": "b"}}, "topologyKey": "kubernetes.io/hostname"}
                ]
            }
        },
    }
    claim = {
        "metadata": {"name": "jail"},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1024Mi"}}},
    }
    spec = {
        "replicas": 2,
        "serviceName": "gpu",
        "selector": {"matchLabels": {"a": "b"}},
        "template": {"metadata": {"labels": {"a": "b"}}, "spec": pod},
        "volumeClaimTemplates": [claim],
        "updateStrategy": {"type": "OnDelete"},
    }
    return manifest(STATEFUL_SETS, "gpu", namespace, spec=spec)


def cluster(namespace: str) -> list[Desired]:
    """Objects with every trap: defaults, quantities, int-or-string, keyed and atomic lists, empty values."""
    ports = [{"name": "ssh", "port": 22, "targetPort": "ssh"}, {"name": "dns", "port": 53, "protocol": "UDP"}]
    rules = [{"apiGroups": [""], "resources": ["secrets"], "resourceNames": ["munge"], "verbs": ["get"]}]
    return [
        Desired(CONFIG_MAPS, manifest(CONFIG_MAPS, "conf", namespace, data={"slurm.conf": "A=1\n", "a": ""})),
        Desired(SECRETS, manifest(SECRETS, "munge", namespace, data={"key": "czNjcjN0"}), Policy.CREATE_ONCE),
        Desired(
            SERVICES, manifest(SERVICES, "login", namespace, spec={"selector": {"a": "b"}, "ports": ports})
        ),
        Desired(ROLES, manifest(ROLES, "reader", namespace, rules=rules)),
        Desired(STATEFUL_SETS, statefulset(namespace)),
    ]


def acts(outcomes: list[Outcome]) -> list[Act]:
    return [outcome.act for outcome in outcomes]
