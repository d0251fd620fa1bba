"""Token: a JSON web token kept in a Secret."""

from slurmery.api.fields import GoDuration, Time, absent
from slurmery.api.resource import Column, CustomResource
from slurmery.api.rules import Rule
from slurmery.api.slinky.shared import AGE, GROUP, VERSION, JwtKeyed, SecretKeyRef, Status


class TokenSpec(
    JwtKeyed,
    markers=(
        Rule(
            "has(self.jwtKeyRef) || has(self.jwtHs256KeyRef)",
            "jwtKeyRef is required",
            holds=lambda spec: "jwtKeyRef" in spec or "jwtHs256KeyRef" in spec,
        ),
    ),
):
    """The token to issue."""

    username: str
    """Slurm user that the token speaks for."""
    lifetime: GoDuration = absent("15m")
    """How long a token is good for; 15 minutes when absent."""
    refresh: bool = True
    """Whether the token is renewed before it expires; otherwise its Secret never changes."""
    secret_ref: SecretKeyRef | None = None
    """Secret and key to write the token to; by default SLURM_JWT in a Secret named after token and user."""


class TokenStatus(Status):
    """What the operator observed of the token."""

    issued_at: Time | None = None
    """When the token in the Secret was issued."""


class Token(
    CustomResource,
    group=GROUP,
    version=VERSION,
    plural="tokens",
    short_names=("tokens", "jwt"),
    columns=(Column("USER", "string", ".spec.username"), Column("IAT", "date", ".status.issuedAt"), AGE),
):
    """A JSON web token for a Slurm user, kept in a Secret."""

    spec: TokenSpec
    """The token to issue."""
    status: TokenStatus | None = None
    """What the operator observed."""
