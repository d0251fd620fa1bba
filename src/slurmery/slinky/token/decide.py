"""What a Token should be.

    issued ──────────────── 80 % ──────── expires
             kept as it is       replaced          (at once if the key, the user or the lifetime is another)

A token that is not refreshed is written once; when it no longer works, a condition says so.
"""

from datetime import UTC, datetime, timedelta
from typing import Final

from slurmery.api.duration import duration
from slurmery.api.slinky import Token
from slurmery.doors.conditions import PROGRESSING, READY, Condition, Problem, degraded
from slurmery.doors.plan import Plan
from slurmery.kube.desired import Desired, Policy
from slurmery.kube.resources import SECRETS
from slurmery.slinky.token import build, jwt
from slurmery.slinky.token.observed import Observed

PRUNED: Final = (SECRETS,)

# Slurm keeps the end of a token's life in 31 bits.
LONGEST: Final = timedelta(seconds=2**31 - 2)
_SOONEST: Final = 1.0


def decide(token: Token, observed: Observed, *, now: datetime, jti: str) -> Plan:
    """The plan for a Token; `jti` is the identity of a new token, should one be needed."""
    problems = missing(token, observed)
    if problems or observed.key is None:
        return Plan(desired=(), conditions=_conditions(token, problems))
    claims = jwt.verified(observed.key, observed.current or "")
    if observed.current and not token.spec.refresh:
        problems = _no_longer_works(token, claims, now)
        left = claims.expires - now.timestamp() if claims and not problems else None
        kept = Desired(SECRETS, build.secret(token, observed.current), heir_of=observed.heir_of)
        return Plan(desired=(kept,), conditions=_conditions(token, problems), requeue=left)
    if claims and observed.current and _good(token, claims, now):
        secret = build.secret(token, observed.current)
    else:
        issued = int(now.timestamp())
        claims = jwt.Claims(build.username(token), issued, issued + int(lifetime(token).total_seconds()))
        secret = build.secret(token, jwt.sign(observed.key, claims, jti))
    # One that was immutable before refresh was asked for cannot be changed, only replaced.
    policy = Policy.RECREATE if token.spec.refresh else Policy.CREATE_ONCE
    return Plan(
        desired=(Desired(SECRETS, secret, policy, heir_of=observed.heir_of),),
        conditions=_conditions(token, []),
        prune=PRUNED,
        requeue=max(_SOONEST, (_due(claims) if token.spec.refresh else claims.expires) - now.timestamp()),
    )


def issued_at(observed: Observed) -> datetime | None:
    """When the token in the Secret was issued, for the status; None if it is not one of this key."""
    claims = jwt.verified(observed.key, observed.current) if observed.key and observed.current else None
    return datetime.fromtimestamp(claims.issued, UTC) if claims else None


def lifetime(token: Token) -> timedelta:
    """How long a token is good for."""
    return min(duration(token.spec.lifetime), LONGEST)


def missing(token: Token, observed: Observed) -> list[Problem]:
    """Why no token can be issued."""
    ref = token.spec.jwt_key
    if ref is None:
        return [Problem("KeyNotGiven", "jwtKeyRef is required.")]
    if lifetime(token) < timedelta(seconds=1):
        return [Problem("InvalidSpec", f"lifetime: {token.spec.lifetime} is less than a second.")]
    if observed.key == b"":
        return [Problem("KeyEmpty", f"Key {ref.key} of Secret {ref.name} is empty.")]
    if observed.key is None:
        message = f"Secret {ref.name} with key {ref.key}, named by jwtKeyRef, does not exist."
        return [Problem("SecretNotFound", message)]
    return []


def _due(claims: jwt.Claims) -> float:
    return claims.issued + 0.8 * (claims.expires - claims.issued)


def _good(token: Token, claims: jwt.Claims, now: datetime) -> bool:
    """Whether the token still says what the spec says, and is not due; one from the future is not trusted."""
    asked = (build.username(token), int(lifetime(token).total_seconds()))
    says = (claims.user, claims.expires - claims.issued)
    return asked == says and claims.issued <= now.timestamp() < _due(claims)


def _no_longer_works(token: Token, claims: jwt.Claims | None, now: datetime) -> list[Problem]:
    secret = build.place(token).secret
    remedy = f"delete Secret {secret} for a new one, or set refresh."
    if claims is None:
        return [Problem("KeyChanged", f"The token was not signed with the key of jwtKeyRef: {remedy}")]
    if claims.expires <= now.timestamp():
        return [Problem("TokenExpired", f"The token has expired: {remedy}")]
    return []


def _conditions(token: Token, problems: list[Problem]) -> tuple[Condition, ...]:
    at = build.place(token)
    if problems:
        first = problems[0]
        return (
            Condition(READY, "False", first.reason, first.message),
            Condition(PROGRESSING, "False", "Waiting", "Nothing happens until the problem is solved."),
            degraded(problems),
        )
    return (
        Condition(READY, "True", "Issued", f"Secret {at.secret} holds the token under {at.key}."),
        Condition(PROGRESSING, "False", "UpToDate", "The token is as the spec says."),
        degraded([]),
    )
