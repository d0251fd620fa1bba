"""Something for the operator to do, and a way to make it slow."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from slurmery.kube.client import Client
from slurmery.kube.errors import NotFoundError
from slurmery.kube.meta import Key
from slurmery.kube.resources import SECRETS, VALIDATING_WEBHOOKS
from slurmery.slinky.kinds import TOKENS

KEY = {"name": "keys", "key": "jwt.key"}


def secret(namespace: str, name: str) -> dict[str, Any]:
    metadata = {"name": name, "namespace": namespace}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": {"jwt.key": "c2VjcmV0"}}


async def ask_for_a_token(client: Client, namespace: str) -> None:
    """A Token; the operator writes a Secret and then a status."""
    head = {"apiVersion": TOKENS.api_version, "kind": TOKENS.kind}
    metadata = {"name": "token", "namespace": namespace}
    await client.create(
        TOKENS, {**head, "metadata": metadata, "spec": {"jwtKeyRef": KEY, "username": "alice"}}
    )


async def issued(client: Client, namespace: str) -> bool:
    """Whether the token's Secret is there."""
    try:
        await client.get(SECRETS, Key(namespace, "token-jwt-alice"))
    except NotFoundError:
        return False
    return True


async def conditions(client: Client, namespace: str) -> dict[str, str]:
    found: dict[str, Any] = await client.get(TOKENS, Key(namespace, "token"))
    return {one["type"]: one["status"] for one in found.get("status", {}).get("conditions", ())}


@asynccontextmanager
async def slow_secrets(client: Client, namespace: str) -> AsyncIterator[asyncio.Event]:
    """New Secrets take a second, because of a webhook that does not answer; the event says that one came."""
    asked = asyncio.Event()
    callers: list[asyncio.StreamWriter] = []

    def never_answer(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        callers.append(writer)
        asked.set()

    server = await asyncio.start_server(never_answer, "127.0.0.1", 0)
    url = "https://{}:{}".format(*server.sockets[0].getsockname())
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["secrets"], "operations": ["CREATE"]}
    webhook = {
        "name": "slow.example.com",
        "clientConfig": {"url": url},
        "rules": [rule],
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}},
        "failurePolicy": "Ignore",
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
        "timeoutSeconds": 1,
    }
    name = f"slow-{namespace}"
    head = {"apiVersion": VALIDATING_WEBHOOKS.api_version, "kind": VALIDATING_WEBHOOKS.kind}
    await client.create(VALIDATING_WEBHOOKS, {**head, "metadata": {"name": name}, "webhooks": [webhook]})
    try:
        # The API server learns of it by a watch of its own.
        while not asked.is_set():
            path, probe = SECRETS.path(namespace), secret(namespace, "probe")
            await client.request("POST", path, params={"dryRun": "All"}, body=probe)
        asked.clear()
        yield asked
    finally:
        await client.delete(VALIDATING_WEBHOOKS, Key("", name))
        server.close()
        for caller in callers:
            caller.transport.abort()
