"""What a decision about an Accounting looks at."""

from dataclasses import dataclass, field

from slurmery.doors.conditions import Rollout


@dataclass(frozen=True)
class Observed:
    """The world around an Accounting, in its namespace.

    Of a key there is a hash; None if the Secret or the key in it does not exist. The database password is
    here itself, as slurmdbd.conf needs it; it is kept out of every repr. `jwks_hash` is of the ConfigMap key
    that jwksKeyRef names. `waits_for` are the Controllers that use the same slurm.key and have not taken a
    new one yet.
    """

    slurm_key_hash: str | None = None
    jwt_key_hash: str | None = None
    jwks_hash: str | None = None
    password: str | None = field(default=None, repr=False)
    rollout: Rollout | None = None
    waits_for: tuple[str, ...] = ()
