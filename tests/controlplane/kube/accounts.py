"""Service accounts with tokens, and the right to read metrics."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import msgspec

from slurmery.kube.client import Client
from slurmery.kube.meta import Key, Resource
from slurmery.kube.resources import SERVICE_ACCOUNTS

CLUSTER_ROLES = Resource("rbac.authorization.k8s.io", "v1", "clusterroles", "ClusterRole", namespaced=False)
BINDINGS = Resource(
    "rbac.authorization.k8s.io", "v1", "clusterrolebindings", "ClusterRoleBinding", namespaced=False
)


async def token(client: Client, namespace: str, name: str) -> str:
    """The token of a new service account."""
    metadata = {"name": name, "namespace": namespace}
    await client.create(
        SERVICE_ACCOUNTS, {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata}
    )
    answer = await client.request(
        "POST",
        SERVICE_ACCOUNTS.path(namespace, name, "token"),
        body={"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}},
    )
    text: str = msgspec.json.decode(answer)["status"]["token"]
    return text


@asynccontextmanager
async def metrics_reader(client: Client, namespace: str) -> AsyncIterator[str]:
    """The token of an account that may read /metrics meanwhile."""
    name = f"metrics-reader-{namespace}"
    rule = {"nonResourceURLs": ["/metrics"], "verbs": ["get"]}
    role = {"apiVersion": CLUSTER_ROLES.api_version, "kind": "ClusterRole", "metadata": {"name": name}}
    await client.create(CLUSTER_ROLES, {**role, "rules": [rule]})
    reader = await token(client, namespace, "prometheus")
    await client.create(
        BINDINGS,
        {
            "apiVersion": BINDINGS.api_version,
            "kind": "ClusterRoleBinding",
            "metadata": {"name": name},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name},
            "subjects": [{"kind": "ServiceAccount", "name": "prometheus", "namespace": namespace}],
        },
    )
    yield reader
    await client.delete(BINDINGS, Key("", name))
    await client.delete(CLUSTER_ROLES, Key("", name))
