"""A way to make a real API server answer one user with 429 for as long as a test likes."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

from slurmery.kube.client import Client
from slurmery.kube.config import Config
from slurmery.kube.errors import KubeError, TooManyRequestsError
from slurmery.kube.meta import Key, Resource
from slurmery.kube.resources import CONFIG_MAPS, VALIDATING_WEBHOOKS

from .conftest import until

FLOW_SCHEMAS = Resource("flowcontrol.apiserver.k8s.io", "v1", "flowschemas", "FlowSchema", namespaced=False)
PRIORITY_LEVELS = Resource(
    "flowcontrol.apiserver.k8s.io",
    "v1",
    "prioritylevelconfigurations",
    "PriorityLevelConfiguration",
    namespaced=False,
)
BINDINGS = Resource(
    "rbac.authorization.k8s.io", "v1", "clusterrolebindings", "ClusterRoleBinding", namespaced=False
)

Body = tuple[Resource, dict[str, Any]]


@contextlib.asynccontextmanager
async def existing(client: Client, name: str, *objects: Body) -> AsyncIterator[None]:
    """Cluster-wide objects of this name, for a while."""
    for resource, body in objects:
        manifest = {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": {"name": name}}
        await client.create(resource, {**manifest, **body})
    try:
        yield
    finally:
        for resource, _ in reversed(objects):
            await client.delete(resource, Key("", name))


def administrator(user: str) -> Body:
    role = {"apiGroup": BINDINGS.group, "kind": "ClusterRole", "name": "cluster-admin"}
    return BINDINGS, {"roleRef": role, "subjects": [{"kind": "User", "name": user}]}


def bottleneck(name: str, user: str) -> tuple[Body, Body]:
    """The API server works on as few requests of this user at once as can be, and refuses the others."""
    limits = {"nominalConcurrencyShares": 0, "lendablePercent": 0, "borrowingLimitPercent": 0}
    level = {"type": "Limited", "limited": {**limits, "limitResponse": {"type": "Reject"}}}
    rule = {
        "subjects": [{"kind": "User", "user": {"name": user}}],
        "resourceRules": [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"], "namespaces": ["*"]}],
    }
    flow = {"priorityLevelConfiguration": {"name": name}, "matchingPrecedence": 10, "rules": [rule]}
    return (PRIORITY_LEVELS, {"spec": level}), (FLOW_SCHEMAS, {"spec": flow})


def slow_webhook(url: str) -> Body:
    """ConfigMaps labelled `slow` wait for somebody who does not answer."""
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"], "operations": ["CREATE"]}
    webhook = {
        "name": "slow.example.com",
        "clientConfig": {"url": url},
        "rules": [rule],
        "objectSelector": {"matchLabels": {"slow": "yes"}},
        "failurePolicy": "Ignore",
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
        "timeoutSeconds": 30,
    }
    return VALIDATING_WEBHOOKS, {"webhooks": [webhook]}


@contextlib.asynccontextmanager
async def storm_of_429(client: Client, to: Config, user: str, namespace: str) -> AsyncIterator[None]:
    """While it lasts, the API server has no time for the user: slow requests of its own take all there is."""

    callers: list[asyncio.StreamWriter] = []

    def never_answer(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        callers.append(writer)

    async def press() -> None:
        metadata = {"name": "slow", "namespace": namespace, "labels": {"slow": "yes"}}
        while True:
            with contextlib.suppress(KubeError):
                await crowd.request(
                    "POST",
                    CONFIG_MAPS.path(namespace),
                    params={"dryRun": "All"},
                    body={"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata},
                )
            await asyncio.sleep(0.02)

    async def refused() -> bool:
        try:
            await crowd.get(CONFIG_MAPS, Key(namespace, "any"))
        except KubeError as error:
            return isinstance(error, TooManyRequestsError)
        return False

    server = await asyncio.start_server(never_answer, "127.0.0.1", 0)
    url = "https://{}:{}".format(*server.sockets[0].getsockname())
    # A deadline as short as what Retry-After asks for: the crowd does not wait politely.
    async with (
        existing(client, user, *bottleneck(user, user), slow_webhook(url)),
        Client(to, user_agent="crowd", deadline=1) as crowd,
    ):
        pressing = [asyncio.create_task(press()) for _ in range(4)]
        try:
            await until(refused, 60)
            yield
        finally:
            for task in pressing:
                task.cancel()
            await asyncio.gather(*pressing, return_exceptions=True)
            server.close()
            for caller in callers:
                caller.transport.abort()
