"""Who may read metrics, decided by a real API server."""

from http import HTTPStatus

import msgspec

from slurmery.kube.authorize import Authorizer
from slurmery.kube.client import Client
from slurmery.kube.meta import Key, Resource
from slurmery.kube.resources import SERVICE_ACCOUNTS

from .conftest import until

CLUSTER_ROLES = Resource("rbac.authorization.k8s.io", "v1", "clusterroles", "ClusterRole", namespaced=False)
BINDINGS = Resource(
    "rbac.authorization.k8s.io", "v1", "clusterrolebindings", "ClusterRoleBinding", namespaced=False
)


async def token(client: Client, namespace: str, name: str) -> str:
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


async def test_only_who_is_known_and_allowed_may_read(client: Client, namespace: str) -> None:
    name = f"metrics-reader-{namespace}"
    rule = {"nonResourceURLs": ["/metrics"], "verbs": ["get"]}
    role = {"apiVersion": CLUSTER_ROLES.api_version, "kind": "ClusterRole", "metadata": {"name": name}}
    await client.create(CLUSTER_ROLES, {**role, "rules": [rule]})
    reader = await token(client, namespace, "prometheus")
    stranger = await token(client, namespace, "stranger")
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

    async def allowed() -> bool:
        return await Authorizer(client).verdict(f"Bearer {reader}", "/metrics") == HTTPStatus.OK

    await until(allowed)  # the API server learns of new roles by a watch of its own
    authorizer = Authorizer(client)
    assert await authorizer.verdict(f"Bearer {reader}", "/secret") == HTTPStatus.FORBIDDEN
    assert await authorizer.verdict(f"Bearer {stranger}", "/metrics") == HTTPStatus.FORBIDDEN
    assert await authorizer.verdict("Bearer nonsense", "/metrics") == HTTPStatus.UNAUTHORIZED
    for header in ("", "Bearer", "Bearer ", "Basic YTpi"):
        assert await authorizer.verdict(header, "/metrics") == HTTPStatus.UNAUTHORIZED
    await client.delete(BINDINGS, Key("", name))
    await client.delete(CLUSTER_ROLES, Key("", name))
