"""JSON web tokens as upstream issues them: HS256 over jti, iss, iat, nbf, exp and Slurm's own `sun`.

By hand for the reason that `slurm.tokens` gives: Slurm takes any bytes for a key, libraries do not.
"""

import base64
import hashlib
import hmac
import json
from dataclasses import dataclass
from typing import Any, Final

ISSUER: Final = "slurm-operator"
_HEAD: Final = {"alg": "HS256", "typ": "JWT"}


@dataclass(frozen=True)
class Claims:
    """What a token says: whom it speaks for, and from when until when (Unix time)."""

    user: str
    issued: int
    expires: int


def sign(key: bytes, claims: Claims, jti: str) -> str:
    """A token; `jti` tells it from every other one."""
    content = {
        "jti": jti,
        "iss": ISSUER,
        "iat": claims.issued,
        "nbf": claims.issued,
        "exp": claims.expires,
        "sun": claims.user,
    }
    signed = f"{_part(_HEAD)}.{_part(content)}"
    return f"{signed}.{_signature(key, signed)}"


def verified(key: bytes, token: str) -> Claims | None:
    """The claims of a token that this key has signed; None of any other text."""
    signed, _, signature = token.rpartition(".")
    if not hmac.compare_digest(_signature(key, signed).encode(), signature.encode()):
        return None
    try:
        content = _content(signed)
        return Claims(str(content["sun"]), int(content["iat"]), int(content["exp"]))
    except (ValueError, KeyError, TypeError):
        return None


def issued_to(token: str) -> str | None:
    """The user of a token that names an operator as its issuer, whoever signed it; None of any other."""
    try:
        content = _content(token.rpartition(".")[0])
        return str(content["sun"]) if content["iss"] == ISSUER else None
    except (ValueError, KeyError, TypeError):
        return None


def _content(signed: str) -> Any:
    return json.loads(_bytes(signed.partition(".")[2]))


def _part(content: dict[str, Any]) -> str:
    return _text(json.dumps(content, separators=(",", ":")).encode())


def _signature(key: bytes, signed: str) -> str:
    return _text(hmac.new(key, signed.encode(), hashlib.sha256).digest())


def _text(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()


def _bytes(part: str) -> bytes:
    return base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))
