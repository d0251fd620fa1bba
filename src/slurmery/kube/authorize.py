"""Who may read our metrics: asked of the API server, as kube-rbac-proxy does.

A bearer token is turned into a user by a TokenReview, and the user is allowed or not by a SubjectAccessReview
for `get` on the path. Answers are remembered for a minute, by a hash of the token.
"""

import hashlib
import time
from collections import OrderedDict
from collections.abc import Callable
from http import HTTPStatus
from typing import Any, Final

from slurmery.kube.client import Client
from slurmery.kube.resources import SUBJECT_ACCESS_REVIEWS, TOKEN_REVIEWS

REMEMBERED_SECONDS: Final = 60.0
REMEMBERED_CALLERS: Final = 256


class Authorizer:
    """Answers with 200, 401 or 403 for an Authorization header and a path."""

    def __init__(self, client: Client, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._client = client
        self._clock = clock
        self._known: OrderedDict[tuple[bytes, str], tuple[float, HTTPStatus]] = OrderedDict()

    async def verdict(self, authorization: str, path: str) -> HTTPStatus:
        scheme, _, token = authorization.partition(" ")
        if scheme.lower() != "bearer" or not token:
            return HTTPStatus.UNAUTHORIZED
        caller = (hashlib.sha256(token.encode()).digest(), path)
        until, verdict = self._known.get(caller, (0.0, HTTPStatus.UNAUTHORIZED))
        if self._clock() >= until:
            verdict = await self._review(token, path)
            self._known[caller] = (self._clock() + REMEMBERED_SECONDS, verdict)
            while len(self._known) > REMEMBERED_CALLERS:
                self._known.popitem(last=False)
        return verdict

    async def _review(self, token: str, path: str) -> HTTPStatus:
        review = {"apiVersion": TOKEN_REVIEWS.api_version, "kind": TOKEN_REVIEWS.kind, "metadata": {}}
        status = (await self._client.create(TOKEN_REVIEWS, {**review, "spec": {"token": token}}))["status"]
        if not status.get("authenticated"):
            return HTTPStatus.UNAUTHORIZED
        user: dict[str, Any] = status["user"]
        spec = {
            "user": user.get("username", ""),
            "uid": user.get("uid", ""),
            "groups": user.get("groups", []),
            "extra": user.get("extra", {}),
            "nonResourceAttributes": {"path": path, "verb": "get"},
        }
        access = SUBJECT_ACCESS_REVIEWS
        review = {"apiVersion": access.api_version, "kind": access.kind, "metadata": {}}
        status = (await self._client.create(access, {**review, "spec": spec}))["status"]
        return HTTPStatus.OK if status.get("allowed") else HTTPStatus.FORBIDDEN
