"""What is known around a Token, the time, and what a new token would be told by."""

import base64
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from slurmery.api.slinky import Token
from slurmery.doors.plan import Plan
from slurmery.kube.meta import Key
from slurmery.kube.resources import SECRETS
from slurmery.slinky import names
from slurmery.slinky.token import build, jwt
from slurmery.slinky.token.decide import issued_at
from slurmery.slinky.token.observed import Observed
from slurmery.slinky.world import World


@dataclass(frozen=True)
class Gathered:
    """What a decision needs."""

    observed: Observed
    now: datetime
    jti: str


async def gather(world: World, token: Token) -> Gathered:
    """The world around a Token."""
    namespace, at = token.metadata.namespace, build.place(token)
    # From the server, as the cache may not show the token of a moment ago: it would be issued twice.
    held = await world.contents.live(SECRETS, Key(namespace, at.secret)) or {}
    current = held[at.key].decode(errors="replace") if at.key in held else None
    observed = Observed(
        key=await world.secret_value(namespace, token.spec.jwt_key),
        current=current,
        heir_of=_testator(world, token, current) if current else "",
    )
    return Gathered(observed, datetime.now(UTC), str(uuid.uuid4()))


def _testator(world: World, token: Token, current: str) -> str:
    """The uid of the key's Secret, if upstream's operator made it the owner of a token of this user."""
    view = world.caches.metadata[SECRETS].get(Key(token.metadata.namespace, build.place(token).secret))
    owner, key = view.controller if view else None, token.spec.jwt_key
    if owner is None or key is None or (owner.kind, owner.name) != (SECRETS.kind, key.name):
        return ""
    return owner.uid if jwt.issued_to(current) == build.username(token) else ""


def labels(name: str) -> dict[str, str]:
    """By which the Secret is known as the Token's: one of the same name that lacks them is left alone."""
    return {names.INSTANCE_LABEL: name, names.COMPONENT_LABEL: "token"}


def status(token: Token, gathered: Gathered, plan: Plan) -> Mapping[str, Any]:
    """When the token was issued that is now in the Secret."""
    key = build.place(token).key
    written = [one.manifest["data"][key] for one in plan.desired]
    current = base64.b64decode(written[0]).decode() if written else gathered.observed.current
    issued = issued_at(replace(gathered.observed, current=current))
    return {"issuedAt": issued.strftime("%Y-%m-%dT%H:%M:%SZ") if issued else None}
