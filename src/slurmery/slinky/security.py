"""Who the daemons run as, and how they know each other and their users."""

from typing import Final

from slurmery.kube.meta import Manifest
from slurmery.slinky import names

# The security context of slurmctld and slurmdbd.
AS_SLURM: Final[Manifest] = {
    "runAsNonRoot": True,
    "runAsUser": names.SLURM_UID,
    "runAsGroup": names.SLURM_UID,
}


def auth_options(*, jwks: bool) -> dict[str, tuple[str, ...]]:
    """Settings that are lists of options, to which users may add theirs."""
    keys = [f"jwt_key={names.ETC_SLURM}/{names.JWT_KEY}"]
    if jwks:
        keys.append(f"jwks={names.ETC_SLURM}/{names.JWKS}")
    return {"AuthAltParameters": tuple(keys), "AuthInfo": ("use_client_ids",)}
