"""The Secret of a Token."""

import base64
import hashlib
import re
from typing import Any, NamedTuple

from slurmery.api.slinky import Token
from slurmery.doors.merge import merge_metadata
from slurmery.slinky import names

_NOT_IN_NAMES = re.compile(r"[^a-z0-9.-]+")


class Place(NamedTuple):
    """Where a token is written to."""

    secret: str
    key: str


def place(token: Token) -> Place:
    """The Secret and the key in it, as the spec names them or by default."""
    ref = token.spec.secret_ref
    default = names.token_secret(token.metadata.name, _in_name(username(token)))
    return Place(ref.name or default, ref.key or names.TOKEN_KEY) if ref else Place(default, names.TOKEN_KEY)


def username(token: Token) -> str:
    """The Slurm user that the token speaks for."""
    return token.spec.username or "nobody"


def secret(token: Token, jwt: str) -> dict[str, Any]:
    """The Secret that holds the token; unless it is refreshed, it never changes."""
    at = place(token)
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {
            "name": at.secret,
            "namespace": token.metadata.namespace,
            **merge_metadata(token.metadata),
        },
        "type": "Opaque",
        "immutable": not token.spec.refresh,
        "data": {at.key: base64.b64encode(jwt.encode()).decode()},
    }


def _in_name(user: str) -> str:
    """The user as part of an object's name; one that does not fit gets a digest, so that no two meet."""
    plain = _NOT_IN_NAMES.sub("-", user.lower()).strip("-.")
    if plain == user:
        return plain
    return f"{plain}-{hashlib.sha256(user.encode()).hexdigest()[:8]}".strip("-")
