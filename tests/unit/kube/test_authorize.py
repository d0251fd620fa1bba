"""How long a verdict is remembered; how it is reached is under controlplane."""

from http import HTTPStatus
from typing import Any, cast

from slurmery.kube.authorize import Authorizer
from slurmery.kube.client import Client
from slurmery.kube.meta import Resource


class Server:
    known = True

    async def create(self, resource: Resource, manifest: dict[str, Any]) -> dict[str, Any]:
        if resource.kind == "TokenReview":
            return {"status": {"authenticated": self.known, "user": {"username": manifest["spec"]["token"]}}}
        return {"status": {"allowed": True}}


async def test_a_verdict_holds_for_a_minute() -> None:
    server, now = Server(), 0.0
    authorizer = Authorizer(cast("Client", server), clock=lambda: now)
    assert await authorizer.verdict("Bearer a", "/metrics") == HTTPStatus.OK
    server.known = False
    now = 59
    assert await authorizer.verdict("bearer a", "/metrics") == HTTPStatus.OK
    assert await authorizer.verdict("Bearer b", "/metrics") == HTTPStatus.UNAUTHORIZED
    assert await authorizer.verdict("Bearer a", "/other") == HTTPStatus.UNAUTHORIZED
    now = 61
    assert await authorizer.verdict("Bearer a", "/metrics") == HTTPStatus.UNAUTHORIZED


async def test_a_flood_of_tokens_does_not_fill_the_memory() -> None:
    authorizer = Authorizer(cast("Client", Server()))
    for number in range(1000):
        await authorizer.verdict(f"Bearer {number}", "/metrics")
    assert len(authorizer._known) <= 256
